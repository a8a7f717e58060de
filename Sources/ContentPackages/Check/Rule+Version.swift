extension ContentRule {
    /// The version must be above the live version.
    static let version = ContentRule { inspection in
        guard case .read(let info)? = inspection.info, let live = inspection.expectation.above, info.version <= live
        else { return [] }
        return [
            ContentFinding(
                .version, path: ContentInfo.fileName,
                "The version \(info.version) is not above the live version \(live).",
                "Set \(ContentInfo.versionKey) to a higher version. Versions compare number by number: 1.10 is above 1.9."
            )
        ]
    }
}
