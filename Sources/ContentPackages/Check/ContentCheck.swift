import Foundation

/// Holds packages, and folders before they become packages, to the rules of hosted content. It is the same on the developer's machine and at
/// the store.
public enum ContentCheck {
    /// How a check ended.
    public enum Outcome: Sendable {
        /// Nothing is wrong.
        case passed(CheckedPackage)
        /// Everything that is wrong; at least one finding.
        case refused([ContentFinding])
    }

    /// The most findings of one rule that are told.
    public static let mostFindingsOfARule = 100

    /// Everything that is wrong with a folder from which a package is to be built; empty when nothing is.
    ///
    /// It blocks while it reads.
    /// - Parameter info: what will stand for `ContentInfo.plist`; nil when the folder's own is used.
    /// - Throws: ``ContentPackageError`` `unreadable` when the folder or a file in it cannot be read, and `cancelled`.
    public static func findings(
        inFolder folder: URL, info: ContentInfo? = nil,
        expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, isCancelled: () -> Bool = { false }
    ) throws -> [ContentFinding] {
        var inspection: Inspection
        do {
            inspection = try Inspection(folder: folder, limits: limits, isCancelled: isCancelled)
        } catch let error as ContentPackageError where error.code == .refused {
            return error.findings
        }
        if let info { inspection.info = .read(info) }
        inspection.expectation = expectation
        return findings(inspection)
    }

    /// Everything that is wrong with a package; empty when nothing is.
    ///
    /// It blocks while it reads all of the package, on two threads.
    /// - Throws: ``ContentPackageError`` `unreadable` when the file cannot be read, and `cancelled`.
    public static func findings(
        inPackage file: URL, expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws -> [ContentFinding] {
        switch try check(package: file, expecting: expectation, limits: limits, isCancelled: isCancelled) {
        case .passed: []
        case .refused(let findings): findings
        }
    }

    /// Checks a package.
    ///
    /// It blocks while it reads all of the package, on two threads.
    /// - Throws: ``ContentPackageError`` `unreadable` when the file cannot be read, and `cancelled`.
    public static func check(
        package url: URL, expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws -> Outcome {
        let file = try ReadableFile(url.path)
        do {
            // Its size is known before anything in it is.
            guard file.length <= limits.packedBytes else {
                let size = Inspection(entries: [], packedLength: file.length, limits: limits)
                return .refused(ContentRule.size.findings(size))
            }
            let contents = try PackageContents(file: file, limits: limits, isCancelled: isCancelled)
            var inspection = try Inspection(contents, limits: limits, isCancelled: isCancelled)
            inspection.expectation = expectation
            let findings = findings(inspection)
            guard findings.isEmpty, case .read(let info)? = inspection.info else { return .refused(findings) }
            return .passed(
                CheckedPackage(
                    package: ContentPackage(info: info, length: file.length, contents: contents),
                    expectation: expectation))
        } catch let error as ContentPackageError where error.code == .refused {
            return .refused(error.findings)
        }
    }

    private static func findings(_ inspection: Inspection) -> [ContentFinding] {
        let all = inspection.findings + ContentRule.all.flatMap { $0.findings(inspection) }
        var counts: [ContentFinding.Rule: Int] = [:]
        var told: [ContentFinding] = []
        var seen: Set<ContentFinding> = []
        for finding in all where seen.insert(finding).inserted {
            counts[finding.rule, default: 0] += 1
            if counts[finding.rule, default: 0] <= mostFindingsOfARule { told.append(finding) }
        }
        for (rule, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count > mostFindingsOfARule
        {
            told.append(
                ContentFinding(
                    rule, "There are \(count - mostFindingsOfARule) more findings of this rule.",
                    "Mend those above, and check again."))
        }
        return told
    }
}
