import Foundation
import ServerBooks

exit(
    await ServerBooksApp.run(
        arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
