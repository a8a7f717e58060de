// Apple's StoreKit re-exports Foundation, and code written for it relies on that.
@_exported import Foundation
