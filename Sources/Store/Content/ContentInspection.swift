import ContentPackages
import Foundation
import StoreWire

/// Checks an uploaded package with the same rules as the tool on the developer's machine.
enum ContentInspection {
    /// Checks one package at a time, because a check takes processor time and memory.
    private static let queue = DispatchQueue(label: "cornerstore.content.check")

    /// All problems that were found in a package.
    struct Findings: Error {
        var all: [UploadFinding]
    }

    /// Checks a package.
    /// - Parameter above: the highest version that was ever approved. The package's version must be higher.
    /// - Returns: the package, or all problems that were found in it.
    /// - Throws: ``StoreError`` `unavailable` when the file cannot be read.
    static func inspect(
        _ file: URL, for product: ContentProduct, above: ContentVersion?
    ) async throws -> Result<CheckedPackage, Findings> {
        let expectation = ContentExpectation(productID: product.productID.rawValue, above: above)
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try look(file, expectation) }) }
        }
    }

    private static func look(_ file: URL, _ expectation: ContentExpectation) throws -> Result<CheckedPackage, Findings>
    {
        do {
            switch try ContentCheck.check(package: file, expecting: expectation) {
            case .passed(let package): return .success(package)
            case .refused(let findings): return .failure(Findings(all: findings.map(UploadFinding.init)))
            }
        } catch let error as ContentPackageError {
            throw StoreError(.unavailable, "The package cannot be checked: \(error.detail)")
        }
    }
}

extension UploadFinding {
    init(_ finding: ContentFinding) {
        self.init(
            rule: finding.rule.rawValue, path: finding.path, message: finding.message, advice: finding.advice)
    }
}
