import Hummingbird

/// What a request of this server carries.
typealias StoreRequestContext = BasicRequestContext
