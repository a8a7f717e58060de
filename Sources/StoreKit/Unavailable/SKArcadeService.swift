import Foundation

/// Apple Arcade's check of its subscribers.
@available(*, unavailable, message: "there is no Apple Arcade here; leave the calls out on Linux")
public final class SKArcadeService: NSObject {}
