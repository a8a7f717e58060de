import Foundation
import MonkeyCredits

exit(
    await MonkeyCreditsApp.run(
        arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
