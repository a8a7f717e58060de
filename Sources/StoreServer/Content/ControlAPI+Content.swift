import ControlWire
import Store

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
            findings: upload.findings?.map(ControlAPI.Finding.init), createdDate: ControlAPI.text(upload.createdAt),
            isElsewhere: upload.isElsewhere ? true : nil)
    }
}

extension ControlAPI.Finding {
    init(_ finding: UploadFinding) {
        self.init(rule: finding.rule, path: finding.path, message: finding.message, advice: finding.advice)
    }
}
