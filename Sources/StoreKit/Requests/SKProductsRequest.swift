import Foundation
import StoreWire
import Synchronization

/// Asks the store for products by identifier.
open class SKProductsRequest: SKRequest {
    private let productIdentifiers: Set<String>
    private let fixedEngine: StoreKitEngine?

    /// A request for no products, for subclasses in tests.
    public override init() {
        productIdentifiers = []
        fixedEngine = nil
        super.init()
    }

    /// A request for the products of these identifiers. Any number may be asked; the store is asked in portions.
    public init(productIdentifiers: Set<String>) {
        self.productIdentifiers = productIdentifiers
        fixedEngine = nil
        super.init()
    }

    init(productIdentifiers: Set<String>, engine: StoreKitEngine) {
        self.productIdentifiers = productIdentifiers
        fixedEngine = engine
        super.init()
    }

    /// Is told of the products; not retained. Nil as well when a delegate that takes no products was assigned to the
    /// request as an ``SKRequest``.
    // Apple's header declares the property of the superclass anew with a narrower type, and test doubles rely on it:
    // `delegate?.productsRequest(self, didReceive: …)`. Swift has no such override, hence a property of its own beside the
    // inherited one, over the same storage.
    @_nonoverride
    open weak var delegate: (any SKProductsRequestDelegate)? {
        get { super.delegate as? any SKProductsRequestDelegate }
        set { super.delegate = newValue }
    }

    open override func start() {
        let engine = fixedEngine ?? .shared
        let identifiers = productIdentifiers
        let carried = Carried(object: self)
        run.withLock { run in
            guard run.task == nil else { return }
            let number = run.number
            run.task = Task {
                let answer = await engine.products(identifiers)
                engine.callbackQueue.async { carried.object.deliver(answer, of: number) }
            }
        }
    }

    private func deliver(_ answer: Result<ProductsResponse, SKError>, of number: Int) {
        let isCurrent = run.withLock { run in
            guard run.number == number else { return false }
            run = (number + 1, nil)
            return true
        }
        guard isCurrent else { return }
        let anyDelegate: (any SKRequestDelegate)? = delegate ?? super.delegate
        switch answer {
        case .success(let response):
            delegate?.productsRequest(self, didReceive: SKProductsResponse(response))
            anyDelegate?.requestDidFinish(self)
        case .failure(let error):
            anyDelegate?.request(self, didFailWithError: error)
        }
    }
}

/// Is told of products; assign it to ``SKProductsRequest/delegate``.
public protocol SKProductsRequestDelegate: SKRequestDelegate {
    /// The store's answer, right before `requestDidFinish`.
    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

/// The store's answer to a products request.
open class SKProductsResponse: NSObject {
    private let found: [SKProduct]
    private let invalid: [String]

    /// An empty response, for subclasses in tests.
    public override init() {
        found = []
        invalid = []
        super.init()
    }

    init(_ response: ProductsResponse) {
        found = response.products.map(SKProduct.init)
        invalid = response.invalidProductIDs.map(\.rawValue)
        super.init()
    }

    /// The products that can be bought, in no particular order.
    open var products: [SKProduct] { found }
    /// The identifiers that are unknown or not for sale here.
    open var invalidProductIdentifiers: [String] { invalid }
}
