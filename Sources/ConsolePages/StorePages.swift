/// The page of an item.
public struct ItemPage: Page {
    /// The template of item pages.
    public static let template = "item"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// A sentence about what was just done.
    public var message: String?
    /// A sentence about what failed.
    public var problem: String?
    /// The address of the artwork, 200 pixels a side.
    public var artwork: String
    /// The address of the artwork, 400 pixels a side.
    public var largeArtwork: String
    /// The item's name.
    public var name: String
    /// The creator's name.
    public var creator: String
    /// The address of the creator's page.
    public var creatorLink: String
    /// The kind of item in words.
    public var kind: String
    /// The first genre.
    public var genre: String?
    /// The album or season.
    public var collection: PageLink?
    /// The ratings; nil without any.
    public var rating: PageRating?
    /// The price as customers read it; nil when it is not sold by itself.
    public var price: String?
    /// Buying; nil on public pages.
    public var buying: PageBuying?
    /// The address of a clip without pictures.
    public var audio: String?
    /// A clip with pictures.
    public var video: PageVideo?
    /// The screenshots.
    public var screenshots: [PageScreenshot]
    /// The description.
    public var description: String?
    /// The heading of the contents.
    public var contentsTitle: String
    /// The songs or episodes of a collection.
    public var contents: [PageTrack]
    /// The newest version, or none.
    public var versions: [PageVersion]
    /// The versions before.
    public var olderVersions: [PageVersion]
    /// The app's in-app purchases.
    public var purchases: [PagePurchase]
    /// The customers' reviews.
    public var reviews: [PageReview]
    /// The address of further reviews.
    public var moreReviews: String?
    /// The form for the reader's own review; nil on public pages.
    public var reviewing: PageReviewing?
    /// The information.
    public var facts: [PageFact]
    /// Other items of the creator.
    public var more: [PageTile]
    /// Recommended items.
    public var related: [PageTile]
    /// The address that closes the page and returns to the app; nil on public pages.
    public var closing: String?

    /// Creates it.
    public init(
        frame: StoreFrame, message: String? = nil, problem: String? = nil, artwork: String, largeArtwork: String,
        name: String, creator: String, creatorLink: String, kind: String, genre: String?, collection: PageLink?,
        rating: PageRating?, price: String?, buying: PageBuying? = nil, audio: String?, video: PageVideo?,
        screenshots: [PageScreenshot], description: String?, contentsTitle: String, contents: [PageTrack],
        versions: [PageVersion], olderVersions: [PageVersion], purchases: [PagePurchase], reviews: [PageReview] = [],
        moreReviews: String? = nil, reviewing: PageReviewing? = nil, facts: [PageFact], more: [PageTile],
        related: [PageTile], closing: String? = nil
    ) {
        self.frame = frame
        self.message = message
        self.problem = problem
        self.artwork = artwork
        self.largeArtwork = largeArtwork
        self.name = name
        self.creator = creator
        self.creatorLink = creatorLink
        self.kind = kind
        self.genre = genre
        self.collection = collection
        self.rating = rating
        self.price = price
        self.buying = buying
        self.audio = audio
        self.video = video
        self.screenshots = screenshots
        self.description = description
        self.contentsTitle = contentsTitle
        self.contents = contents
        self.versions = versions
        self.olderVersions = olderVersions
        self.purchases = purchases
        self.reviews = reviews
        self.moreReviews = moreReviews
        self.reviewing = reviewing
        self.facts = facts
        self.more = more
        self.related = related
        self.closing = closing
    }
}

/// A list of items: a creator's, or those that a search found.
public struct ItemsPage: Page {
    /// The template of lists.
    public static let template = "items"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// The heading.
    public var heading: String
    /// The items.
    public var items: [PageTile]
    /// The sentence when there are none.
    public var nothing: String
    /// The address of further items.
    public var next: String?

    /// Creates it.
    public init(frame: StoreFrame, heading: String, items: [PageTile], nothing: String, next: String?) {
        self.frame = frame
        self.heading = heading
        self.items = items
        self.nothing = nothing
        self.next = next
    }
}

/// A page with a sentence, such as that an item does not exist.
public struct NotePage: Page {
    /// The template of notes.
    public static let template = "note"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// The heading.
    public var heading: String
    /// The sentence.
    public var text: String
    /// The address that closes the page and returns to the app; nil on public pages.
    public var closing: String?

    /// Creates it.
    public init(frame: StoreFrame, heading: String, text: String, closing: String? = nil) {
        self.frame = frame
        self.heading = heading
        self.text = text
        self.closing = closing
    }
}

/// The page that asks whether to buy an item. It names the price and the account.
public struct ConfirmPage: Page {
    /// The template of confirmations.
    public static let template = "confirm"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// The address of the artwork, 200 pixels a side.
    public var artwork: String
    /// The question.
    public var heading: String
    /// The account that gets the item, and the price that it pays.
    public var text: String
    /// The address that the form is sent to.
    public var action: String
    /// The idempotency key of the purchase.
    public var key: String
    /// The price that the customer sees, in thousandths of the currency's unit.
    public var agreed: String
    /// The button's words.
    public var label: String
    /// The address of the item's page.
    public var cancel: String

    /// Creates it.
    public init(
        frame: StoreFrame, artwork: String, heading: String, text: String, action: String, key: String,
        agreed: String, label: String, cancel: String
    ) {
        self.frame = frame
        self.artwork = artwork
        self.heading = heading
        self.text = text
        self.action = action
        self.key = key
        self.agreed = agreed
        self.label = label
        self.cancel = cancel
    }
}
