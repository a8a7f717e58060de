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
        // An address with the digest of another file, or of a file that changed, may get another picture later.
        let isFinal = picture.isCurrent && address.digest == item.anyArtworkDigest(address.picture)
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
    /// The digest in the current addresses of a picture.
    fileprivate func anyArtworkDigest(_ picture: ItemImageAddress.Picture) -> String? {
        self.picture(picture)?.digest ?? (picture == .artwork ? anyArtworkAddress(1).digest : nil)
    }
}
