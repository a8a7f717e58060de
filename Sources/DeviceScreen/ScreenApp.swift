public import ConsolePages

/// An app on a device's screen. The screen calls it on the main thread.
@MainActor
public protocol ScreenApp: AnyObject {
    /// The app's name.
    var name: String { get }
    /// The contents of the screen now.
    var content: ScreenContent { get }
    /// Whether the app waits for a purchase, a request or a download. After a button was pressed, the page waits
    /// until it does not.
    var isBusy: Bool { get async }
    /// Performs the action of a button or a form. It sends its messages to ``DeviceScreen/say(_:)``.
    func press(_ press: ScreenPress)
    /// Restores what was bought before.
    func restore()
    /// A picture that ``content`` shows, as a PNG file; nil when there is none of this name.
    func picture(_ name: String) -> [UInt8]?
}

extension ScreenApp {
    /// Nil.
    public func picture(_ name: String) -> [UInt8]? { nil }
}

/// A pressed button, or a form that was sent.
public struct ScreenPress: Sendable, Equatable {
    /// The button's name.
    public var button: String
    /// The values of the form's fields.
    public var values: [String: String]

    /// Creates a press.
    public init(_ button: String, _ values: [String: String] = [:]) { (self.button, self.values) = (button, values) }
}

/// The addresses on a device's screen.
public enum ScreenAddress {
    /// The address of a picture.
    /// - Parameter name: one to 64 letters, digits, dots and hyphens.
    public static func picture(_ name: String) -> String { "/pictures/\(name)" }

    /// The address to which a button or a form of the app is sent.
    /// - Parameter button: one to 64 letters, digits, dots and hyphens.
    public static func press(_ button: String) -> String { "/press/\(button)" }
}

extension ConsoleButton {
    /// A button of an app on a device's screen.
    /// - Parameters:
    ///   - button: the name that ``ScreenApp/press(_:)`` receives.
    ///   - about: what the button does, for those who only hear it; the label by default.
    public init(press button: String, _ label: String, about: String? = nil, tone: ConsoleTone? = nil) {
        self.init(label, about: about ?? label, action: ScreenAddress.press(button), tone: tone)
    }
}
