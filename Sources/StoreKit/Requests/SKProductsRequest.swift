import Foundation
import StoreWire
import Synchronization

/// A request for products by identifier.
open class SKProductsRequest: SKRequest {
    private let productIdentifiers: Set<String>
    private let fixedEngine: StoreKitEngine?
    private let executor: (any TaskExecutor)?

    /// Creates a request for no products, for subclasses in tests.
    public override init() {
        productIdentifiers = []
        (fixedEngine, executor) = (nil, nil)
        super.init()
    }

    /// Creates a request for the products with these identifiers. A large set is sent to the store in several requests.
    public init(productIdentifiers: Set<String>) {
        self.productIdentifiers = productIdentifiers
        (fixedEngine, executor) = (nil, nil)
        super.init()
    }

    /// - Parameter executor: runs the request; nil for Swift's own.
    init(productIdentifiers: Set<String>, engine: StoreKitEngine, executor: (any TaskExecutor)? = nil) {
        self.productIdentifiers = productIdentifiers
        (fixedEngine, self.executor) = (engine, executor)
        super.init()
    }

    // Apple's header redeclares the superclass's property with a narrower type, and test doubles rely on it:
    // `delegate?.productsRequest(self, didReceive: …)`. Swift has no such override. Therefore this is a second property
    // over the storage of the inherited one.
    /// The delegate, which receives the products. It is not retained. Nil if the delegate set through ``SKRequest``
    /// does not conform to ``SKProductsRequestDelegate``.
    @_nonoverride
    open weak var delegate: (any SKProductsRequestDelegate)? {
        get { super.delegate as? any SKProductsRequestDelegate }
        set { super.delegate = newValue }
    }

    open override func start() {
        let engine = fixedEngine ?? .shared
        let (identifiers, executor) = (productIdentifiers, executor)
        let carried = Carried(object: self)
        run.withLock { run in
            guard run.task == nil else { return }
            let number = run.number
            run.task = Task(executorPreference: executor) {
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

/// The delegate of a products request, set as ``SKProductsRequest/delegate``.
public protocol SKProductsRequestDelegate: SKRequestDelegate {
    /// Receives the store's response, right before `requestDidFinish`.
    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

/// The store's response to a products request.
open class SKProductsResponse: NSObject {
    private let found: [SKProduct]
    private let invalid: [String]

    /// Creates an empty response, for subclasses in tests.
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

    /// The products for sale, in no particular order.
    open var products: [SKProduct] { found }
    /// The identifiers that are unknown or not for sale in the customer's storefront.
    open var invalidProductIdentifiers: [String] { invalid }
}
