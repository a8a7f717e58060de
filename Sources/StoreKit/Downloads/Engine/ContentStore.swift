import Foundation
import StoreWire

/// The store, for the downloads. The method never throws: every failure is a result.
protocol ContentStore: Sendable {
    func grant(for download: DownloadEntry) async -> ContentAnswer
}

/// The result of a request for a transaction's content.
enum ContentAnswer: Sendable {
    case granted(GrantedContent)
    case refused(PaymentFailure)
    case unreachable
}

/// The validated address, size and digest of a package. The store's response is not trusted.
struct GrantedContent: Sendable, Equatable {
    /// The size limit of a package and of its unpacked content: 2 GB (Apple's limit for hosted content).
    static let largest: Int64 = 2 << 30

    var address: URL
    var version: String
    /// The size of the package in bytes.
    var length: Int64
    /// The size of the files in the package, in bytes.
    var unpackedLength: Int64
    /// The SHA-256 of the package, in lower-case hexadecimal.
    var sha256: String
}

extension GrantedContent {
    /// Validates a grant of the store at `store` for the content of `product`; nil when a value is out of range.
    init?(_ grant: ContentGrant, at store: URL, for product: ProductID, largest: Int64 = Self.largest) {
        guard grant.contentID == product, (1...largest).contains(grant.length),
            (0...largest).contains(grant.unpackedLength), grant.url.utf8.count <= 8192,
            !grant.version.isEmpty, grant.version.utf8.count <= 128,
            let address = Self.address(grant.url, at: store)
        else { return nil }
        self.init(
            address: address, version: grant.version, length: grant.length, unpackedLength: grant.unpackedLength,
            sha256: grant.sha256.lowercased())
    }

    /// Resolves an absolute URL, or a path at the store.
    private static func address(_ text: String, at store: URL) -> URL? {
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            var base = store.absoluteString
            while base.hasSuffix("/") { base.removeLast() }
            return URL(string: base + text)
        }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""), url.host != nil
        else { return nil }
        return url
    }
}

/// The store over the network.
struct RemoteContentStore: ContentStore {
    let session: StoreSession
    let store: URL

    func grant(for download: DownloadEntry) async -> ContentAnswer {
        guard let account = download.account else { return .refused(.otherAccount) }
        let request = ContentRequest(bundleID: session.bundleID, version: download.isBegun ? download.version : nil)
        do {
            let grant = try await session.asAccount(account, mayAsk: true) { token throws(StoreFailure) in
                try await session.client.content(download.id, request, token: token)
            }
            guard let granted = GrantedContent(grant, at: store, for: download.productID) else {
                return .refused(.contentGrant)
            }
            return .granted(granted)
        } catch {
            switch error {
            case .unreachable: return .unreachable
            case .notSignedIn: return .refused(.otherAccount)
            case .refused(let refusal): return .refused(PaymentFailure(contentRefusal: refusal))
            }
        }
    }
}
