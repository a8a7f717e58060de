import BlobStorage
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import Store
import StoreWire

/// Serves the clips that pages play (`ItemPreviewAddress`). An item's `file` is never served here.
struct PreviewController: Sendable {
    let items: CurrentItemIndex
    /// The lowest rate at which a client may download.
    let patience: StallWatch.Rule

    func addRoutes(to router: Router<StoreRequestContext>) {
        for method in [HTTPRequest.Method.get, .head] {
            router.on("/preview/:number/:name", method: method, use: preview)
        }
    }

    @Sendable private func preview(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let unknown = StoreError(.notFound, "No item has this preview. Take its address from an answer to /lookup.")
        let path = request.uri.path
        guard let number = ItemPreviewAddress.number(inPath: path), let item = try items.value.item(number),
            let preview = item.preview, path.split(separator: "/").last?.removingPercentEncoding == preview.name
        else { throw unknown }
        let file: BlobFile
        do { file = try await BlobThreads.run { try BlobFile(URL(fileURLWithPath: preview.path)) } } catch {
            context.logger.warning("a preview cannot be played", metadata: ["file": .string(preview.path)])
            throw StoreError(.notFound, "The preview cannot be played. The store's log has the reason.")
        }
        let entityTag = "\"\(String(file.size, radix: 16))-\(String(file.modified, radix: 16))\""
        return try FileAnswer(
            file, entityTag: entityTag,
            headers: [.contentType: preview.mediaType, .cacheControl: "public, max-age=3600"], patience: patience
        ).response(to: request, context)
    }
}
