import Foundation
import PhotoFilters

Task {
    exit(
        await PhotoFiltersApp.run(
            arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
}
// Serves the main queue, on which StoreKit calls its observers, with the main thread, as on Apple's systems.
RunLoop.main.run()
