import CornerstoreEncoding

/// The routes of payment sheets, which the control port serves. The device, the page and the server use this table: the
/// server routes by ``template``, and the others request ``path``.
public enum SheetRoute: Sendable, Hashable {
    /// Posts a question: ``SheetQuestion``, answered with ``SheetPosted``.
    case post
    /// Gets the answer to a question: ``SheetReply``. The store waits up to `wait` seconds for it.
    case outcome(String, wait: Int?)
    /// Gets the page on which a person answers.
    case page(String)
    /// Answers a question with the page's form (`application/x-www-form-urlencoded`): `choice`, which is a
    /// ``SheetReply/Choice``, and `email`, `password`, `code` and `option`.
    case answer(String)
    /// Gets a file that the page refers to.
    case asset(String)

    /// The name of the query parameter for the seconds to wait.
    public static let wait = "wait"

    /// The HTTP method of the request.
    public var method: RouteMethod {
        switch self {
        case .outcome, .page, .asset: .get
        case .post, .answer: .post
        }
    }

    /// The path, with `{id}` in place of the question's id, or `{name}` in place of the file's name.
    public var template: String {
        switch self {
        case .post: "/control/v1/sheets"
        case .outcome: "/control/v1/sheets/{id}/answer"
        case .page: "/sheets/{id}"
        case .answer: "/sheets/{id}/answer"
        case .asset: "/assets/{name}"
        }
    }

    /// The path and query of the request.
    public var path: String {
        switch self {
        case .post: template
        case .outcome(let id, let wait): filled(id) + (wait.map { "?\(Self.wait)=\($0)" } ?? "")
        case .page(let id), .answer(let id): filled(id)
        case .asset(let name): template.replacing("{name}", with: name.percentEncoded)
        }
    }

    private func filled(_ id: String) -> String { template.replacing("{id}", with: id.percentEncoded) }
}
