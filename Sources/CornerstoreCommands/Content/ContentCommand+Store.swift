import ArgumentParser

extension ContentCommand {
    /// What is done with hosted content at a running store.
    static let atTheStore: [any ParsableCommand.Type] = [
        ContentHostCommand.self, ContentUploadCommand.self, ContentStatusCommand.self, ContentSubmitCommand.self,
        ContentReviewCommand.self, ContentApproveCommand.self, ContentRejectCommand.self, ContentRemoveCommand.self,
        ContentRuleCommand.self,
    ]
}
