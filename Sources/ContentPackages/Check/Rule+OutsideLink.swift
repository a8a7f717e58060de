extension ContentRule {
    /// Symbolic links must point into the content.
    static let outsideLink = ContentRule(forEach: { entry in
        guard case .symbolicLink(let target) = entry.kind,
            !ContentPath.isInside(target: target, ofLinkAt: entry.path)
        else { return nil }
        return ContentFinding(
            .outsideLink, path: entry.path, "The link points outside of the content: “\(target.prefix(200))”.",
            "Make it relative to its folder, with “..” only at the beginning, or replace it with a copy.")
    })
}
