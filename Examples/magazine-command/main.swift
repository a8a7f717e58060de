import Foundation
import Magazine

Task {
    exit(
        await MagazineApp.run(
            arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
}
// Serves the main queue, on which StoreKit calls its observers, with the main thread, as on Apple's systems.
RunLoop.main.run()
