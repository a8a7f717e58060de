import ConsolePages
import ControlWire
import CornerstoreEncoding
import Crypto
import Foundation
import HTTPTypes
import StoreWire

/// The form that uploads a package to a product. A browser without scripts sends it whole. The script sends pieces,
/// each with the package's SHA-256, its length and the piece's offset, until the answer is a page.
///
/// A version that arrived is not on sale in production, so the form asks for no confirmation there. The question could
/// not keep the chosen file.
enum PackageUpload {
    /// The largest piece, which is also the largest package from a browser without scripts, in bytes.
    static let largestPiece = 8 << 20

    static let action = ConsoleAction(
        path: "content/{bundle}/{product}/upload",
        routes: [
            .control(.beginUpload), .control(.upload(UUID())), .control(.appendToUpload(UUID(), offset: 0)),
            .control(.completeUpload(UUID())),
        ],
        page: "content/{bundle}/{product}", limit: largestPiece + (64 << 10), perform: take)

    /// The section with the form.
    static func section(_ request: PageRequest, _ product: ControlAPI.HostedProduct) -> ConsoleSection {
        var section = ConsoleSection("upload", "Upload a package")
        guard product.hosted else {
            section.text = "Hosting is off. Turn it on below to upload a package."
            return section
        }
        let path = "content/\(product.bundleId.percentEncoded)/\(product.productId.percentEncoded)/upload"
        section.forms = [
            ConsoleForm(
                action: request.action(path),
                fields: [
                    ConsoleField(
                        "file", "Choose a package, or drop it here", .file,
                        hint:
                            "At most 1 GB, or 8 MB without scripts; the command takes 2 GB. To continue an upload that stopped, choose the same file again.",
                        isRequired: true)
                ], button: "Upload", sendsPieces: true)
        ]
        return section
    }

    /// The answer to the script.
    private struct Progress: Encodable {
        /// The number of bytes that the store has. The next piece starts there.
        var offset: Int64?
        /// Why the package was refused, and what to do.
        var problem: String?
    }

    @Sendable private static func take(_ action: ActionRequest) async throws -> ActionOutcome {
        guard action.text("sha256") != nil else { return try await store(action) }
        do {
            return try await store(action)
        } catch let problem as FormProblem {
            return .data(try JSONEncoder.compact.encode(Progress(problem: problem.message)))
        } catch let problem as APIProblem {
            // After a failure of the store, the script sends the piece again, and at last shows the reason.
            return .data(
                try JSONEncoder.compact.encode(Progress(problem: problem.message)),
                status: problem.status < 500 ? .ok : .badGateway)
        }
    }

    private static func store(_ action: ActionRequest) async throws -> ActionOutcome {
        guard let bytes = action.file else { throw FormProblem("file", "Choose a package.") }
        let (bundle, product) = (action.page.parameter("bundle"), action.page.parameter("product"))
        let offset = max(0, action.text("offset").flatMap { Int64($0) } ?? 0)
        let upload: ControlAPI.ContentUpload = try await action.api.send(
            .beginUpload,
            ControlAPI.NewContentUpload(
                bundleId: bundle, productId: product,
                length: action.text("length").flatMap { Int64($0) } ?? Int64(bytes.count),
                sha256: action.text("sha256") ?? Hexadecimal.encoded(SHA256.hash(data: bytes))))
        var arrived = upload.offset
        // A piece that begins before the bytes that have arrived may end after them.
        if arrived < upload.length, arrived >= offset, arrived - offset < Int64(bytes.count) {
            do {
                arrived = try await action.api.append(bytes[Int(arrived - offset)...], to: upload).offset
            } catch let problem as APIProblem where problem.code == WireError.Code.wrongOffset.rawValue {
                // Another tab sends the same file.
                let now: ControlAPI.ContentUpload = try await action.api.ask(.upload(upload.uploadId))
                arrived = now.offset
            }
        }
        guard arrived == upload.length else {
            return .data(try JSONEncoder.compact.encode(Progress(offset: arrived)))
        }
        do {
            let version: ControlAPI.ContentVersion = try await action.api.ask(.completeUpload(upload.uploadId))
            return .done(
                "content/\(bundle.percentEncoded)/\(product.percentEncoded)",
                message: "Version \(version.version) arrived. Submit it for review below.")
        } catch let problem as APIProblem where problem.code == WireError.Code.invalidContent.rawValue {
            let refused: ControlAPI.ContentUpload? = try? await action.api.ask(.upload(upload.uploadId))
            let findings = (refused?.findings ?? []).prefix(5).map { finding in
                "\(finding.path.map { "\($0): " } ?? "")\(finding.message) \(finding.advice)"
            }
            throw FormProblem("file", ([problem.message] + findings).joined(separator: " "))
        }
    }
}
