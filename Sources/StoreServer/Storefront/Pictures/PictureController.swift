import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Store
import StoreWire

/// Serves the pictures of items in the sizes that addresses name (`ItemImageAddress`).
struct PictureController: Sendable {
    let items: CurrentItemIndex
    let pictures: ItemPictures

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.get("/image/thumb/:number/:picture/:size", use: picture)
    }

    @Sendable private func picture(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let unknown = StoreError(.notFound, "No item has this picture. Take its address from an answer to /lookup.")
        guard let address = ItemImageAddress(path: request.uri.path), let item = try items.value.item(address.number)
        else { throw unknown }
        let found: ScaledPicture?
        do { found = try await pictures.picture(address, of: item) } catch let error as ItemPictures.Unusable {
            context.logger.warning(
                "a picture cannot be shown",
                metadata: [
                    "file": .string(item.picture(address.picture)?.path ?? ""), "reason": .string(error.reason),
                ])
            throw StoreError(.notFound, "The picture cannot be shown. The store's log has the reason.")
        }
        guard let picture = found else { throw unknown }
        // Only the current digest names this picture for good. An address with another digest may get another picture
        // later, and so may an address whose file has changed since the catalog was read.
        let isFinal = picture.isCurrent && address.digest == item.currentDigest(of: address.picture)
        let headers: HTTPFields = [
            .contentType: address.format == .png ? "image/png" : "image/jpeg", .eTag: picture.entityTag,
            .cacheControl: isFinal ? "public, max-age=31536000, immutable" : "public, max-age=60",
            .xContentTypeOptions: "nosniff",
        ]
        if request.isFresh(picture.entityTag) { return Response(status: .notModified, headers: headers) }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.bytes)))
    }
}

extension CatalogItem {
    /// The digest in a picture's current addresses; nil when the item has no such picture.
    fileprivate func currentDigest(of picture: ItemImageAddress.Picture) -> String? {
        self.picture(picture)?.digest ?? (picture == .artwork ? anyArtworkAddress(1).digest : nil)
    }
}
