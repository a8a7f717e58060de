import Foundation
import Store

extension ControlAPI {
    /// A product with hosted content: `GET /control/v1/content?bundle=&product=`.
    public struct HostedProduct: Codable, Sendable, Equatable {
        public var bundleId: String
        public var productId: String
        /// Whether hosting is on.
        public var hosted: Bool
        /// Whether a version was ever approved.
        public var wasLive: Bool
        /// `manual` or `automatic`.
        public var review: String
        /// The state of the newest, in App Store Connect's words such as `READY_TO_SUBMIT`.
        public var state: String
        /// What production downloads now.
        public var productionVersion: String?
        /// What the sandbox downloads now.
        public var sandboxVersion: String?
        /// Newest first.
        public var versions: [ContentVersion]
        /// What is on its way, and what was refused in the last seven days.
        public var uploads: [ContentUpload]
    }

    /// A version of hosted content: `POST /control/v1/content/versions/{id}/submit`, `…/review`, `…/approve`, `…/reject`, `…/remove`.
    public struct ContentVersion: Codable, Sendable, Equatable {
        public struct Moment: Codable, Sendable, Equatable {
            public var state: String
            public var date: String
            /// Why it was rejected.
            public var reason: String?
        }

        public var versionId: UUID
        public var bundleId: String
        public var productId: String
        public var version: String
        public var state: String
        /// Of the package, in bytes.
        public var length: Int64
        /// Of the files once unpacked, in bytes.
        public var unpackedLength: Int64
        public var sha256: String
        /// Oldest first.
        public var history: [Moment]
    }

    /// An upload: `POST /control/v1/content/uploads`, `GET`, `PATCH` and `DELETE /control/v1/content/uploads/{id}`.
    public struct ContentUpload: Codable, Sendable, Equatable {
        public var uploadId: UUID
        public var bundleId: String
        public var productId: String
        /// Of the package, in bytes.
        public var length: Int64
        public var sha256: String
        /// How many bytes have arrived; the next `PATCH` begins there.
        public var offset: Int64
        /// `WAITING_FOR_UPLOAD` or `PROCESSING_CONTENT`; missing once it is settled.
        public var state: String?
        /// The version that came of it.
        public var versionId: UUID?
        /// Why none did.
        public var findings: [Finding]?
        public var createdDate: String
    }

    /// Something that is wrong with a package.
    public struct Finding: Codable, Sendable, Equatable {
        public var rule: String
        public var path: String?
        public var message: String
        public var advice: String
    }

    /// The answer 422 to `POST /control/v1/content/uploads/{id}/complete`.
    public struct RefusedContent: Codable, Sendable, Equatable {
        /// `invalid_content`.
        public var code: String
        public var message: String
        public var requestID: String?
        public var findings: [Finding]
    }

    /// The answer 409 to a `PATCH` that does not go on where the upload stands.
    public struct WrongOffset: Codable, Sendable, Equatable {
        /// `wrong_offset`.
        public var code: String
        public var message: String
        public var requestID: String?
        /// Where it stands.
        public var offset: Int64
    }

    /// Begins an upload, or goes on with that of the same file: `POST /control/v1/content/uploads`.
    public struct NewContentUpload: Codable, Sendable {
        public var bundleId: String
        public var productId: String
        public var length: Int64
        public var sha256: String

        public init(bundleId: String, productId: String, length: Int64, sha256: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.length = length
            self.sha256 = sha256
        }
    }

    /// Turns hosting on or off: `PUT /control/v1/content/hosting`.
    public struct Hosting: Codable, Sendable {
        public var bundleId: String
        public var productId: String
        public var hosted: Bool

        public init(bundleId: String, productId: String, hosted: Bool) {
            self.bundleId = bundleId
            self.productId = productId
            self.hosted = hosted
        }
    }

    /// Who decides about what is submitted: `PUT /control/v1/content/rule`.
    public struct ContentRule: Codable, Sendable {
        public var bundleId: String
        /// Nil is every product of the app that has no rule of its own.
        public var productId: String?
        /// `manual` or `automatic`.
        public var review: String

        public init(bundleId: String, productId: String?, review: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.review = review
        }
    }

    /// `POST /control/v1/content/versions/{id}/reject`.
    public struct Rejection: Codable, Sendable {
        public var reason: String

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
