import CrossPromotion
import Foundation

Task {
    exit(
        await CrossPromotionApp.run(
            arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
}
// Serves the main queue, on which StoreKit calls its delegates, with the main thread, as on Apple's systems.
RunLoop.main.run()
