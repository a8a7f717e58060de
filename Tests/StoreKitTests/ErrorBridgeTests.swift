import StoreKit
import Testing

/// Errors as code written for Apple's StoreKit makes, casts and catches them.
@Suite(.timeLimit(.minutes(1)))
struct ErrorBridgeTests {
    private static func name(_ error: any Error) -> String {
        switch error {
        case SKError.paymentCancelled: "cancelled"
        case let error as SKError: "code \(error.code.rawValue)"
        default: "other"
        }
    }

    @Test func `an NSError of the domain casts to SKError`() {
        let cancelled = NSError(domain: SKErrorDomain, code: 2, userInfo: [NSLocalizedDescriptionKey: "no"])
        let plain: any Error = cancelled
        #expect((cancelled as? SKError)?.code == .paymentCancelled)
        #expect((plain as? SKError)?.code == .paymentCancelled && plain is SKError)
        #expect((plain as? SKError)?.localizedDescription == "no" && (plain as? SKError)?._nsError === cancelled)
        let optional: (any Error)? = cancelled
        #expect((optional as? SKError)?.code == .paymentCancelled)
        let value: Any = cancelled
        #expect((value as? SKError)?.code == .paymentCancelled)
        #expect(((SKError(.paymentInvalid) as NSError) as any Error as? SKError)?.code == .paymentInvalid)
    }

    @Test func `patterns match errors of both kinds`() {
        #expect(Self.name(NSError(domain: SKErrorDomain, code: 2)) == "cancelled")
        #expect(Self.name(SKError(.paymentCancelled)) == "cancelled")
        #expect(Self.name(NSError(domain: SKErrorDomain, code: 5)) == "code 5")
        #expect(Self.name(NSError(domain: "other", code: 2)) == "other")
        do {
            throw NSError(domain: SKErrorDomain, code: 2)
        } catch SKError.paymentCancelled {
        } catch {
            Issue.record("not caught: \(error)")
        }
    }

    @Test func `anything can be wrapped by hand`() {
        let foreign = NSError(domain: "other", code: 2)
        #expect(SKError(_nsError: foreign)._nsError === foreign && SKError(_nsError: foreign).code == .paymentCancelled)
        #expect(SKError(_nsError: NSError(domain: "other", code: -1)).code == .unknown)
    }

    @Test func `an error of another domain is not an SKError, and an unknown code is unknown`() {
        #expect(NSError(domain: "other", code: 2) as? SKError == nil)
        let newer = NSError(domain: SKErrorDomain, code: 999) as? SKError
        #expect(newer?.code == .unknown && newer?.errorCode == 999)
        #expect(SKError._unconditionallyBridgeFromObjectiveC(nil).code == .unknown)
        #expect(SKError._unconditionallyBridgeFromObjectiveC(NSError(domain: "other", code: 2)).code == .unknown)
    }
}
