import ArgumentParser

extension ContentCommand {
    /// The subcommands that need a running store.
    static let atTheStore: [any ParsableCommand.Type] = [
        ContentHostCommand.self, ContentUploadCommand.self, ContentStatusCommand.self, ContentSubmitCommand.self,
        ContentReviewCommand.self, ContentApproveCommand.self, ContentRejectCommand.self, ContentRemoveCommand.self,
        ContentRuleCommand.self,
    ]
}
