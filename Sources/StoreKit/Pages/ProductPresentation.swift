import Foundation

/// The state of a product view controller: whether its page is loaded, and whether it is presented. An app presents
/// before or after loading, so the page is shown as soon as both have happened.
struct ProductPresentation: Sendable {
    /// The page or failure to show next.
    enum Showing: Sendable, Equatable {
        case page(StoreProductPage)
        /// The page could not be loaded: the customer reads the reason instead.
        case failure(String)
    }

    private enum Content {
        case nothing
        case loading
        case loaded(Showing)
    }

    private var content = Content.nothing
    private var lastLoad = 0
    private var isPresented = false
    private var isShown = false

    /// Begins to load a page in place of the one that was loaded before.
    /// - Returns: the number of this load, for ``endLoading(_:_:)``.
    mutating func beginLoading() -> Int {
        content = .loading
        lastLoad += 1
        return lastLoad
    }

    /// Keeps what was loaded, unless another load began since.
    mutating func endLoading(_ load: Int, _ result: Result<StoreProductPage, SKError>) {
        guard load == lastLoad else { return }
        switch result {
        case .success(let page): content = .loaded(.page(page))
        case .failure(let error): content = .loaded(.failure(error.localizedDescription))
        }
    }

    /// Presents the page. Does nothing while it is presented.
    /// - Returns: whether nothing is loaded, or being loaded, that could be shown.
    mutating func present() -> Bool {
        guard !isPresented else { return false }
        isPresented = true
        if case .nothing = content { return true }
        return false
    }

    /// Takes what is to be shown now; nil while the page is not presented, is still loading, or is shown already.
    mutating func takeShowing() -> Showing? {
        guard isPresented, !isShown, case .loaded(let showing) = content else { return nil }
        isShown = true
        content = .nothing
        return showing
    }

    /// Ends the presentation.
    mutating func finish() { (isPresented, isShown) = (false, false) }
}
