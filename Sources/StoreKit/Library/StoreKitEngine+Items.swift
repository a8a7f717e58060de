import Foundation
import StoreWire

extension StoreKitEngine {
    /// Shows the page of an item until the customer dismisses it, buys the item if the customer wants it, and downloads
    /// the files of an owned item into the device's library.
    func show(_ page: StoreProductPage, of item: Int64, _ visit: VisitDescription) async {
        let order =
            await library?.open(item, visit) ?? LibraryOrder(item: item, name: visit.name, key: UUID(), files: [])
        if visit.isOwned { await library?.download(order) }
        let answer = await showAndReview(page, visit)
        guard !visit.isOwned, let session else { return }
        if answer == .buy, page.isForSale {
            await buy(order, visit, session)
        } else if !order.files.isEmpty {
            // The customer may have bought on the page in a browser.
            switch await session.lastState(of: visit) {
            case .bought: await library?.download(order)
            // A request that waits for approval stays, and the next launch asks for its decision. The customer may have
            // sent it on the page: then the store's answer to the download says so.
            case .open, .closed: if order.asked == nil { await library?.download(order) }
            case nil: break
            }
        }
    }

    /// Shows a page again after each review that the customer writes on it.
    private func showAndReview(_ page: StoreProductPage, _ visit: VisitDescription) async -> StoreProductPageAnswer {
        var page = page
        while true {
            let answer = await pages.show(page) { [self] in await waitForEnd(of: visit) }
            guard case .review(let review) = answer else { return answer }
            guard page.isReviewable, let session else { return .done }
            do throws(StoreFailure) {
                page.item?.ownReview = try await session.review(review, on: visit) ?? review
                await pages.presenter.tell("Thank you for your review of \(visit.name).")
            } catch {
                let reason =
                    switch error {
                    case .refused(let refusal): refusal.message
                    case .notSignedIn: "Nobody is signed in."
                    case .unreachable: "The store did not answer."
                    }
                await pages.presenter.tell("The review was not sent. \(reason)")
                diagnostics("the review of the item \(visit.name) was not sent: \(error)")
            }
        }
    }

    /// Waits until the customer has bought on a page in a browser or closed it, or it has expired.
    func waitForEnd(of visit: VisitDescription) async {
        guard let session else { return }
        await VisitWatch(timer: pages.timer, backoff: pages.backoff).waitForEnd {
            () async throws(StoreFailure) in
            try await session.state(of: visit)
        }
    }

    private func buy(_ order: LibraryOrder, _ visit: VisitDescription, _ session: StoreSession) async {
        await library?.begin(order)
        do throws(StoreFailure) {
            try await session.buy(order.item, agreed: visit.amount, key: order.key)
            await pages.presenter.tell("Bought \(visit.name).")
            await library?.download(order)
        } catch {
            let sentence: String
            switch error {
            case .refused(let refusal) where refusal.code == .awaitsApproval:
                sentence = "Asked for the permission to buy \(visit.name)."
                await library?.wait(order, asked: visit.amount)
            case .refused(let refusal):
                sentence = "\(visit.name) was not bought. \(refusal.message)"
                await library?.close(order)
            case .notSignedIn: sentence = "\(visit.name) was not bought, because nobody is signed in."
            // The store may have recorded the purchase. The order keeps its key, so that buying again is the same
            // purchase, and the next launch downloads what was bought.
            case .unreachable:
                sentence = "The store did not answer. Open the page again to see whether you own \(visit.name)."
            }
            await pages.presenter.tell(sentence)
            diagnostics("buying the item \(order.item) failed: \(error)")
        }
    }
}

extension StoreSession {
    /// Buys an item for the account that is signed in, at the price on its page.
    fileprivate func buy(_ item: Int64, agreed: Money?, key: UUID) async throws(StoreFailure) {
        guard let account = tokens.current?.account.accountID else { throw .notSignedIn }
        let request = ItemPurchaseMessage(item: item, agreedPrice: agreed, idempotencyKey: key)
        try await asAccount(account, mayAsk: true) { token throws(StoreFailure) in
            _ = try await client.buyItem(request, token: token)
        }
    }

    /// Sends a review of a page's item.
    /// - Returns: the customer's review as the store has it; nil when the store does not tell.
    fileprivate func review(
        _ review: StoreProductPage.Review, on visit: VisitDescription
    ) async throws(StoreFailure) -> StoreProductPage.Review? {
        guard let account = tokens.current?.account.accountID else { throw .notSignedIn }
        let request = VisitReviewRequest(stars: review.stars, title: review.title, text: review.text)
        return try await asAccount(account, mayAsk: false) { token throws(StoreFailure) in
            let answer: ReviewResponse = try await client.review(visit.id, request, token: token)
            return answer.review.map(StoreProductPage.Review.init)
        }
    }

    /// The state of a page, after waiting up to 20 seconds for its end; nil when it has ended with the sign-in.
    fileprivate func state(of visit: VisitDescription) async throws(StoreFailure) -> VisitState? {
        guard let token = tokens.current?.token else { return nil }
        return try await client.visit(visit.id, wait: 20, token: token)
    }

    /// The state of a page without waiting; nil when the store does not tell.
    fileprivate func lastState(of visit: VisitDescription) async -> VisitState? {
        guard let token = tokens.current?.token else { return nil }
        do throws(StoreFailure) {
            return try await client.visit(visit.id, wait: 0, token: token)
        } catch {
            // A page that has expired sells nothing any more.
            if case .refused = error { return .closed }
            return nil
        }
    }
}
