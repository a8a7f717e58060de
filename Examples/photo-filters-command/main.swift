import Foundation
import PhotoFilters

exit(
    await PhotoFiltersApp.run(
        arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
