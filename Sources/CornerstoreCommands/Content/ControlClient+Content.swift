import AsyncHTTPClient
import ControlWire
import Foundation
import NIOCore

extension ControlClient {
    /// Sends the rest of a file from the upload's offset on.
    /// - Returns: the number of bytes that the store has.
    /// - Throws: ``CommandError`` `failed` when the connection broke, `refused` when the store refused the upload.
    func append(
        _ file: URL, to upload: ControlAPI.ContentUpload, _ display: TransferDisplay
    ) async throws -> Int64 {
        let body = HTTPClientRequest.Body.stream(
            FilePieces(file: file, offset: upload.offset) { display.note($0) },
            length: .known(upload.length - upload.offset))
        let answer = try await exchange(
            .appendToUpload(upload.uploadId, offset: upload.offset), body, type: "application/octet-stream",
            timeout: .hours(24))
        // Another client may be sending the same file, so the store may already have more bytes.
        if let other = try? JSONDecoder().decode(ControlAPI.WrongOffset.self, from: answer.body) { return other.offset }
        return try decoded(answer, as: ControlAPI.ContentUpload.self).offset
    }

    /// Completes the upload, and the store checks the package.
    func complete(_ upload: ControlAPI.ContentUpload) async throws -> ContentUploadAction.Outcome {
        let answer = try await exchange(
            .completeUpload(upload.uploadId), .bytes(ByteBuffer(string: "{}")), type: "application/json",
            timeout: .hours(1))
        if let refusal = try? JSONDecoder().decode(ControlAPI.RefusedContent.self, from: answer.body) {
            return .refused(refusal)
        }
        return .kept(try decoded(answer, as: ControlAPI.ContentVersion.self))
    }
}
