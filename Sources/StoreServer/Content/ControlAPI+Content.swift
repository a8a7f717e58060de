import Foundation
import Store

extension ControlAPI {
    /// A product with hosted content: `GET /control/v1/content?bundle=&product=`.
    public struct HostedProduct: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// Whether hosting is turned on.
        public var hosted: Bool
        /// Whether any version was ever approved.
        public var wasLive: Bool
        /// How submitted versions are reviewed: `manual` or `automatic`.
        public var review: String
        /// The state of the newest version, in App Store Connect's words such as `READY_TO_SUBMIT`.
        public var state: String
        /// The version that production delivers now.
        public var productionVersion: String?
        /// The version that the sandbox delivers now.
        public var sandboxVersion: String?
        /// The product's versions, newest first.
        public var versions: [ContentVersion]
        /// Uploads in progress, and uploads that were refused in the last seven days.
        public var uploads: [ContentUpload]
    }

    /// A version of hosted content: `POST /control/v1/content/versions/{id}/submit`, `…/review`, `…/approve`,
    /// `…/reject`, `…/remove`.
    public struct ContentVersion: Codable, Sendable, Equatable {
        /// A change of the version's state.
        public struct Moment: Codable, Sendable, Equatable {
            /// The new state.
            public var state: String
            /// The date of the change.
            public var date: String
            /// The reviewer's reason for a rejection.
            public var reason: String?
        }

        /// The version's identifier, which names it in the paths.
        public var versionId: UUID
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The `ContentVersion` of the package.
        public var version: String
        /// The state, in App Store Connect's words.
        public var state: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The length of all unpacked files, in bytes.
        public var unpackedLength: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String
        /// The changes of the state, oldest first.
        public var history: [Moment]
    }

    /// An upload: `POST /control/v1/content/uploads`, `GET`, `PATCH` and `DELETE /control/v1/content/uploads/{id}`.
    public struct ContentUpload: Codable, Sendable, Equatable {
        /// The upload's identifier, which names it in the paths.
        public var uploadId: UUID
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String
        /// How many bytes have arrived; the next `PATCH` starts there.
        public var offset: Int64
        /// `WAITING_FOR_UPLOAD` or `PROCESSING_CONTENT`; nil when the upload is completed or refused.
        public var state: String?
        /// The version that the upload became; nil until then.
        public var versionId: UUID?
        /// The findings for which the package was refused.
        public var findings: [Finding]?
        /// The date on which the upload began.
        public var createdDate: String
    }

    /// A problem with a package.
    public struct Finding: Codable, Sendable, Equatable {
        /// The name of the rule that the package breaks.
        public var rule: String
        /// The path in the package; nil when the problem is not in one file.
        public var path: String?
        /// A sentence about the problem.
        public var message: String
        /// A sentence about the correction.
        public var advice: String
    }

    /// The body of a 422 response to `POST /control/v1/content/uploads/{id}/complete`.
    public struct RefusedContent: Codable, Sendable, Equatable {
        /// The error's code, `invalid_content`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestID: String?
        /// The problems with the package.
        public var findings: [Finding]
    }

    /// The body of a 409 response to a `PATCH` that does not start at the upload's offset.
    public struct WrongOffset: Codable, Sendable, Equatable {
        /// The error's code, `wrong_offset`.
        public var code: String
        /// A sentence about the error.
        public var message: String
        /// The request's id, by which the log names it.
        public var requestID: String?
        /// How many bytes have arrived.
        public var offset: Int64
    }

    /// Begins an upload, or continues an earlier upload of the same file: `POST /control/v1/content/uploads`.
    public struct NewContentUpload: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The length of the package, in bytes.
        public var length: Int64
        /// The SHA-256 of the package, as 64 lower-case hexadecimal digits.
        public var sha256: String

        /// Creates a request for an upload.
        public init(bundleId: String, productId: String, length: Int64, sha256: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.length = length
            self.sha256 = sha256
        }
    }

    /// Turns hosting on or off: `PUT /control/v1/content/hosting`.
    public struct Hosting: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// Whether the product's content is hosted.
        public var hosted: Bool

        /// Creates a request that turns hosting on or off.
        public init(bundleId: String, productId: String, hosted: Bool) {
            self.bundleId = bundleId
            self.productId = productId
            self.hosted = hosted
        }
    }

    /// The review rule of an app or product: `PUT /control/v1/content/rule`.
    public struct ContentRule: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The product; nil for every product of the app without its own rule.
        public var productId: String?
        /// How submitted versions are reviewed: `manual` or `automatic`.
        public var review: String

        /// Creates a rule.
        public init(bundleId: String, productId: String?, review: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.review = review
        }
    }

    /// Rejects a version: `POST /control/v1/content/versions/{id}/reject`.
    public struct Rejection: Codable, Sendable {
        /// The reason for the rejection.
        public var reason: String

        /// Creates a rejection.
        public init(reason: String) { self.reason = reason }
    }
}

extension ControlAPI.HostedProduct {
    init(_ product: HostedProduct) {
        self.init(
            bundleId: product.product.bundleID.rawValue, productId: product.product.productID.rawValue,
            hosted: product.isHosted, wasLive: product.wasLive, review: product.review.rawValue,
            state: product.state.rawValue,
            productionVersion: product.versions.first { product.isHosted && $0.state == .approved }?.version.text,
            sandboxVersion: product.versions.first { product.isHosted && $0.state.isTestable }?.version.text,
            versions: product.versions.map(ControlAPI.ContentVersion.init),
            uploads: product.uploads.map(ControlAPI.ContentUpload.init))
    }
}

extension ControlAPI.ContentVersion {
    init(_ version: HostedVersion) {
        self.init(
            versionId: version.versionID, bundleId: version.product.bundleID.rawValue,
            productId: version.product.productID.rawValue, version: version.version.text,
            state: version.state.rawValue, length: version.length, unpackedLength: version.unpackedLength,
            sha256: version.digest.hexadecimal,
            history: version.history.map {
                Moment(state: $0.state.rawValue, date: ControlAPI.text($0.date), reason: $0.reason)
            })
    }
}

extension ControlAPI.ContentUpload {
    init(_ upload: ContentUpload) {
        self.init(
            uploadId: upload.uploadID, bundleId: upload.product.bundleID.rawValue,
            productId: upload.product.productID.rawValue, length: upload.length, sha256: upload.digest.hexadecimal,
            offset: upload.offset, state: upload.state?.rawValue, versionId: upload.versionID,
            findings: upload.findings?.map(ControlAPI.Finding.init), createdDate: ControlAPI.text(upload.createdAt))
    }
}

extension ControlAPI.Finding {
    init(_ finding: UploadFinding) {
        self.init(rule: finding.rule, path: finding.path, message: finding.message, advice: finding.advice)
    }
}
