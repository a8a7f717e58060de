import BookChapters
import Foundation

exit(
    await BookChaptersApp.run(
        arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
