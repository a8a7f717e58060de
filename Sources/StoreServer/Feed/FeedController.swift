import BlobStorage
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerSupport
import Store
import StoreWire

/// Serves the partner feed to partners, who sign in with a name and a password (HTTP Basic, RFC 7617).
struct FeedController: Sendable {
    let desk: FeedDesk
    let partners: Partners
    /// Limits wrong passwords; nil for no limit.
    let limits: SignInLimits?
    let isBehindProxy: Bool
    /// The lowest rate at which a partner may download.
    let patience: StallWatch.Rule
    /// The machine's clock.
    let now: @Sendable () -> Date
    /// The processes of the store, one of which may have the feeds; nil in the process that builds them.
    var processes: OtherProcess?

    func addRoutes(to router: Router<StoreRequestContext>) {
        for method in [HTTPRequest.Method.get, .head] { router.on("/feeds/**", method: method, use: answer) }
    }

    @Sendable private func answer(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        guard try await isPartner(request, context) else { return Self.refusal }
        try processes?.checkFeeds(tellsAddress: false)
        // The path is only looked up among those that exist.
        let path = request.uri.path
        let shelf = desk.shelf
        switch shelf[path] {
        case .folder(let names):
            return Self.page(FeedIndexPage(path: path, entries: names.map { ($0, shelf[path + $0]) }), request)
        case .file(let found):
            let file: BlobFile
            do { file = try await BlobThreads.run { try BlobFile(found.url) } } catch {
                // Another feed has taken the place of this one since the path was looked up.
                throw StoreError(.notFound, "This feed was replaced. Open the folder again.")
            }
            return try FileAnswer(
                file, entityTag: "\"\(found.tag)\"",
                headers: [
                    .contentType: path.hasSuffix(".md5") ? "text/plain; charset=utf-8" : "application/x-bzip2",
                    .cacheControl: "private, no-cache",
                ], patience: patience
            ).response(to: request, context)
        case nil:
            guard shelf[path + "/"] == nil else {
                return Response(status: .movedPermanently, headers: [.location: path + "/"])
            }
            throw StoreError(.notFound, "There is no feed at this address.")
        }
    }

    // MARK: Partners

    private func isPartner(_ request: Request, _ context: StoreRequestContext) async throws -> Bool {
        guard let (name, password) = Self.credentials(request) else { return false }
        if partners.remembers(name, password) { return true }
        let address = NetworkAddress(
            of: context.channel.remoteAddress, forwardedFor: request.forwardedFor, isBehindProxy: isBehindProxy)
        try limits?.take(name, from: address, at: Int64(now().timeIntervalSince1970 * 1000))
        do {
            let isRight = try await context.whileClientStays { [partners] in
                try await partners.verify(name, password, from: .client(address.text))
            }
            if isRight { limits?.giveBack(name, from: address) }
            return isRight
        } catch let error as StoreError where error.code == .unavailable {
            // No password was tried.
            limits?.giveBack(name, from: address)
            throw error
        }
    }

    /// The name and the password of a request; nil when it has none.
    private static func credentials(_ request: Request) -> (name: String, password: String)? {
        guard let header = request.headers[.authorization], header.utf8.count <= 2_048,
            header.lowercased().hasPrefix("basic "), let data = Data(base64Encoded: String(header.dropFirst(6))),
            let colon = data.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (
            String(decoding: data[..<colon], as: UTF8.self),
            String(decoding: data[data.index(after: colon)...], as: UTF8.self)
        )
    }

    private static var refusal: Response {
        Response(
            status: .unauthorized,
            headers: [
                .wwwAuthenticate: "Basic realm=\"Partner Feed\", charset=\"UTF-8\"", .cacheControl: "no-store",
                .contentType: "text/plain; charset=utf-8",
            ], body: ResponseBody(byteBuffer: ByteBuffer(string: "Give a partner's name and password.\n")))
    }

    private static func page(_ page: FeedIndexPage, _ request: Request) -> Response {
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "private, no-cache"]
        headers[.contentSecurityPolicy] = "default-src 'none'; img-src data:"
        headers[.xContentTypeOptions] = "nosniff"
        let html = page.html
        guard request.method == .get else {
            headers[.contentLength] = String(html.utf8.count)
            return Response(status: .ok, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }
}

/// The list of a folder, in the form of Apache's, which partners' programs read: a table whose first link in each row
/// is the entry. There is no row for the folder above, because programs would follow it.
struct FeedIndexPage {
    /// The folder's path.
    var path: String
    /// The names in the folder, each with its entry; nil for a name without one.
    var entries: [(name: String, entry: FeedShelf.Entry?)]

    /// The most characters of a name that are shown, as in Apache's lists. The link has the whole name.
    private static let shown = 23
    /// A picture of one transparent pixel. Programs expect a picture in each row.
    private static let pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    var html: String {
        let title = "Index of \(path.dropLast())"
        let columns = [("N", "Name", "D"), ("M", "Last modified", "A"), ("S", "Size", "A"), ("D", "Description", "A")]
        let heads = columns.map { "<th><a href=\"?C=\($0.0);O=\($0.2)\">\($0.1)</a></th>" }.joined()
        let rows = entries.map { name, entry in
            let (kind, date, size) =
                switch entry {
                case .file(let file): ("[   ]", FeedIndexPage.date(file.day), FeedIndexPage.size(file.length))
                case .folder, nil: ("[DIR]", "&nbsp;", "  - ")
                }
            let text = name.count > Self.shown ? name.prefix(Self.shown - 2) + "..&gt;" : name[...]
            return
                "<tr><td valign=\"top\"><img src=\"\(Self.pixel)\" alt=\"\(kind)\"></td><td><a href=\"\(name)\">\(text)"
                + "</a></td><td align=\"right\">\(date)</td><td align=\"right\">\(size)</td><td>&nbsp;</td></tr>"
        }
        return """
            <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">
            <html>
             <head>
              <title>\(title)</title>
             </head>
             <body>
            <h1>\(title)</h1>
            <table><tr><th><img src="\(Self.pixel)" alt="[ICO]"></th>\(heads)</tr><tr><th colspan="5"><hr></th></tr>
            \(rows.joined(separator: "\n"))
            <tr><th colspan="5"><hr></th></tr>
            </table>
            </body></html>

            """
    }

    private static func date(_ day: FeedDay) -> String {
        let text = day.description
        return "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2)) 00:00"
    }

    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1024: "\(bytes)"
        case ..<(1 << 20): "\(bytes >> 10)K"
        case ..<(1 << 30): "\(bytes >> 20)M"
        default: "\(bytes >> 30)G"
        }
    }
}
