import ConsolePages
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store

/// Serves the storefront's public pages: items and creators under all of Apple's link forms, a list, and a search.
/// The pages only show; nothing can be bought or written on them.
struct PageController: Sendable {
    let pages: ItemPages
    let search: SearchController
    let reviews: Reviews
    let campaigns: Campaigns

    func addRoutes(to router: Router<StoreRequestContext>) {
        let style = pages.templates.stylesheet
        router.get(RouterPath(style.path)) { request, _ in
            Response(
                status: .ok,
                headers: [
                    .contentType: "text/css; charset=utf-8", .cacheControl: "public, max-age=31536000, immutable",
                    .xContentTypeOptions: "nosniff",
                ], compressing: ByteBuffer(bytes: style.bytes), for: request)
        }
        router.get("/find") { request, context in try find(request, context, .unitedStates) }
        router.get("/") { request, _ in try response(pages.page(finding: "", from: 0, in: .unitedStates), to: request) }
        // The router allows no other pattern beside a path of any form, so paths with a country are told apart here.
        for method in [HTTPRequest.Method.get, .post] {
            router.on("/**", method: method) { request, context in try await answer(request, context) }
        }
    }

    private func find(
        _ request: Request, _ context: StoreRequestContext, _ storefront: Storefront
    ) throws -> Response {
        let query = QueryParameters(query: request.uri.query ?? "")
        let (term, offset) = (String((query["term"] ?? "").prefix(500)), query["offset"].flatMap { Int($0) } ?? 0)
        guard term.isEmpty || search.allows(request, context) else {
            // Not thrown, because refused searches would fill the operator's list of refused requests.
            let page = NotePage(
                frame: pages.frame("This did not work", term: term, storefront), heading: "This did not work",
                text: "Your network searches too often. Wait a moment, then search again.")
            return try response(page, status: .forbidden, to: request)
        }
        return try response(
            pages.page(finding: term, from: min(max(offset, 0), ItemSearch.deepest), in: storefront), to: request)
    }

    private func answer(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let parts = request.uri.path.split(separator: "/").map(String.init)
        if parts.count == 2, parts[0].utf8.count == 2, let operation = SearchController.Operation(rawValue: parts[1]) {
            return try await search.answer(operation, request, context, country: parts[0])
        }
        guard request.method != .post else { return try missing(to: request) }
        if let storefront = Self.storefront(parts.first) {
            if parts.count == 1 {
                return try response(pages.page(finding: "", from: 0, in: storefront), to: request)
            }
            if parts.count == 2, parts[1] == "find" { return try find(request, context, storefront) }
        }
        return try await page(request)
    }

    /// A link to an item or a creator.
    private func page(_ request: Request) async throws -> Response {
        let path = request.uri.path
        guard path.utf8.count <= 4_096, let link = ItemLink(path: path, query: request.uri.query ?? "") else {
            return try missing(to: request)
        }
        guard let storefront = link.country.map(Self.storefront) ?? .unitedStates else {
            return try missing(to: request)
        }
        switch link.target {
        case .creator:
            guard let page = try pages.page(ofCreator: link.number, in: storefront) else {
                return try missing("No creator with the number \(link.number) has items here.", storefront, to: request)
            }
            return try response(page, to: request)
        case .item:
            guard let item = try pages.index.value.item(link.number) else {
                return try missing("There is no item with the number \(link.number).", storefront, to: request)
            }
            guard item.availability.includes(storefront) else {
                return try missing(
                    "This item is not available in the storefront \(storefront.countryCode).", storefront, to: request)
            }
            if let campaign = Campaign(QueryParameters(query: request.uri.query ?? "")) {
                // A page is worth more than its count.
                try? await campaigns.count(campaign, of: item.number, at: Self.now)
            }
            var page = try pages.page(of: item, in: storefront)
            let after = QueryParameters(query: request.uri.query ?? "")["reviews"].flatMap { ReviewCursor($0) }
            let found = try await reviews.page(
                of: item.number, in: storefront, after: after, limit: ItemPages.reviewsShown + 1)
            page.show(found) { "\(path)?\(Self.kept(request))reviews=\($0)" }
            return try response(page, to: request)
        }
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The part of the query that names an item in a collection.
    private static func kept(_ request: Request) -> String {
        QueryParameters(query: request.uri.query ?? "")["i"].flatMap { Int64($0) }.map { "i=\($0)&" } ?? ""
    }

    private static func storefront(_ code: String?) -> Storefront? {
        code.flatMap { $0.utf8.count == 2 ? Storefront.withRegion($0.uppercased()) : nil }
    }

    private func missing(
        _ text: String = "There is nothing at this address.", _ storefront: Storefront = .unitedStates,
        to request: Request
    ) throws -> Response {
        try response(pages.missingPage(text, in: storefront), status: .notFound, to: request)
    }

    private func response(
        _ page: some Page, status: HTTPResponse.Status = .ok, to request: Request
    ) throws -> Response {
        Response(
            status: status, headers: ItemPages.headers,
            compressing: ByteBuffer(string: try pages.templates.html(page)), for: request)
    }
}

extension ItemPages {
    /// The page that tells a person's browser about a problem.
    func response(_ problem: HTTPProblem) throws -> Response {
        let page = NotePage(
            frame: frame(Self.heading(problem), .unitedStates), heading: Self.heading(problem), text: problem.message)
        return try response(page, status: problem.status)
    }

    private static func heading(_ problem: HTTPProblem) -> String {
        problem.status == .notFound ? "Not found" : "This did not work"
    }

    /// The response with a page of a visit. It is not compressed, because it contains the visit's address and other
    /// people's reviews.
    /// - Parameter target: where else the answer to a form may lead.
    func response(
        _ page: some Page, status: HTTPResponse.Status = .ok, leadingTo target: ReturnAddress? = nil
    ) throws -> Response {
        let html = try templates.html(page)
        var headers = Self.headers
        if let target { headers[.contentSecurityPolicy] = Self.policy(formTargets: "'self' \(target.origin)") }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    private static func policy(formTargets: String) -> String {
        "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; form-action \(formTargets); "
            + "base-uri 'none'; frame-ancestors 'none'"
    }

    /// Pages load only this server's own files, run no script, and cannot be framed. None is kept, because the address
    /// of a page in an app is a secret.
    fileprivate static let headers: HTTPFields = {
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] = policy(formTargets: "'self'")
        headers[.xContentTypeOptions] = "nosniff"
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
        return headers
    }()
}
