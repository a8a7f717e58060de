import Foundation

/// Checks packages, and folders from which packages are to be built, against the rules of hosted content. The check is
/// the same on the developer's machine and at the store.
public enum ContentCheck {
    /// The result of a check.
    public enum Outcome: Sendable {
        /// The package follows all rules.
        case passed(CheckedPackage)
        /// The package violates rules; there is at least one finding.
        case refused([ContentFinding])
    }

    /// The most findings of one rule that are reported.
    public static let mostFindingsOfARule = 100

    /// The faults of a folder from which a package is to be built; empty when there are none.
    ///
    /// The call blocks while it reads.
    /// - Parameter info: the contents of `ContentInfo.plist` in the package; nil to use the folder's own file.
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

    /// The faults of a package; empty when there are none.
    ///
    /// The call blocks while it reads the whole package, on two threads.
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
    /// The call blocks while it reads the whole package, on two threads.
    /// - Throws: ``ContentPackageError`` `unreadable` when the file cannot be read, and `cancelled`.
    public static func check(
        package url: URL, expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws -> Outcome {
        let file = try ReadableFile(url.path)
        do {
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
                    "Correct the findings above, and check again."))
        }
        return told
    }
}
