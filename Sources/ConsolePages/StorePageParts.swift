/// The parts that all pages of the storefront have.
public struct StoreFrame: PagePart {
    /// The window's title.
    public var title: String
    /// A sentence for search engines.
    public var about: String?
    /// The path of the style sheet.
    public var stylesheet: String
    /// The address of the first page; nil where the reader must not leave.
    public var homeLink: String?
    /// The address that the search form asks; nil where the reader must not leave.
    public var findLink: String?
    /// The address of the page of subscriptions; nil where the reader must not leave.
    public var subscriptionsLink: String?
    /// The words in the search form.
    public var term: String
    /// The storefront's country code.
    public var country: String
    /// Whether links to other items open outside the page, because the page is shown within an app.
    public var opensAside: Bool

    /// Creates the frame of a page.
    public init(
        title: String, about: String? = nil, stylesheet: String, homeLink: String?, findLink: String?,
        subscriptionsLink: String? = nil, term: String = "", country: String, opensAside: Bool = false
    ) {
        self.title = title
        self.about = about
        self.stylesheet = stylesheet
        self.homeLink = homeLink
        self.findLink = findLink
        self.subscriptionsLink = subscriptionsLink
        self.term = term
        self.country = country
        self.opensAside = opensAside
    }
}

/// An item in a list of items.
public struct PageTile: PagePart {
    /// The address of its page.
    public var link: String
    /// The address of its artwork, 192 pixels a side.
    public var artwork: String
    /// Its name.
    public var name: String
    /// Its creator.
    public var by: String
    /// Its price as customers read it.
    public var price: String?

    /// Creates it.
    public init(link: String, artwork: String, name: String, by: String, price: String?) {
        self.link = link
        self.artwork = artwork
        self.name = name
        self.by = by
        self.price = price
    }
}

/// A date.
public struct PageDate: PagePart {
    /// The date as machines read it: `2026-05-31`.
    public var date: String
    /// The date as people read it.
    public var dateText: String

    /// Creates it.
    public init(date: String, dateText: String) {
        self.date = date
        self.dateText = dateText
    }
}

/// A version of an app.
public struct PageVersion: PagePart {
    /// Its number.
    public var version: String
    /// The date as machines read it.
    public var date: String
    /// The date as people read it.
    public var dateText: String
    /// The release notes.
    public var note: String?

    /// Creates it.
    public init(version: String, date: String, dateText: String, note: String?) {
        self.version = version
        self.date = date
        self.dateText = dateText
        self.note = note
    }
}

/// A line of the information about an item.
public struct PageFact: PagePart {
    /// The name of the fact.
    public var name: String
    /// Its value.
    public var value: String
    /// An address that the value leads to.
    public var link: String?

    /// Creates it.
    public init(name: String, value: String, link: String? = nil) {
        self.name = name
        self.value = value
        self.link = link
    }
}

/// An in-app purchase in an app's list.
public struct PagePurchase: PagePart {
    /// Its name.
    public var name: String
    /// Its price as customers read it.
    public var price: String
    /// Its description.
    public var text: String?
    /// Whether the app asked to show it first.
    public var isPromoted: Bool

    /// Creates it.
    public init(name: String, price: String, text: String?, isPromoted: Bool) {
        self.name = name
        self.price = price
        self.text = text
        self.isPromoted = isPromoted
    }
}

/// A song of an album, or an episode of a season.
public struct PageTrack: PagePart {
    /// Its place.
    public var number: String
    /// Its name.
    public var name: String
    /// The address of its page.
    public var link: String
    /// Its playing time, `3:01`.
    public var duration: String
    /// Its price, or an empty text.
    public var price: String

    /// Creates it.
    public init(number: String, name: String, link: String, duration: String, price: String) {
        self.number = number
        self.name = name
        self.link = link
        self.duration = duration
        self.price = price
    }
}

/// The number of ratings with as many stars.
public struct PageBar: PagePart {
    /// 1 to 5.
    public var stars: Int
    /// The word that follows the number of stars, for screen readers.
    public var word: String
    /// The number of ratings.
    public var count: Int
    /// The largest of all counts, at least 1.
    public var most: Int

    /// Creates it.
    public init(stars: Int, count: Int, most: Int) {
        self.stars = stars
        word = stars == 1 ? "star" : "stars"
        self.count = count
        self.most = most
    }
}

/// The ratings of an item.
public struct PageRating: PagePart {
    /// The average with one decimal.
    public var average: String
    /// The average as five stars.
    public var starsText: String
    /// The number of ratings in words.
    public var countText: String
    /// The histogram, five stars first.
    public var bars: [PageBar]

    /// Creates it.
    public init(average: String, starsText: String, countText: String, bars: [PageBar]) {
        self.average = average
        self.starsText = starsText
        self.countText = countText
        self.bars = bars
    }
}

/// A developer's answer to a review.
public struct PageAnswer: PagePart {
    /// The date as machines read it.
    public var date: String
    /// The date as people read it.
    public var dateText: String
    /// The answer.
    public var text: String

    /// Creates it.
    public init(date: String, dateText: String, text: String) {
        self.date = date
        self.dateText = dateText
        self.text = text
    }
}

/// A customer's review.
public struct PageReview: PagePart {
    /// 1 to 5.
    public var stars: Int
    /// The rating as five stars.
    public var starsText: String
    /// Its title.
    public var title: String
    /// Its text.
    public var text: String
    /// The date as machines read it.
    public var date: String
    /// The date as people read it.
    public var dateText: String
    /// The app's version that it is about.
    public var version: String?
    /// The developer's answer.
    public var answer: PageAnswer?

    /// Creates it.
    public init(
        stars: Int, starsText: String, title: String, text: String, date: String, dateText: String, version: String?,
        answer: PageAnswer?
    ) {
        self.stars = stars
        self.starsText = starsText
        self.title = title
        self.text = text
        self.date = date
        self.dateText = dateText
        self.version = version
        self.answer = answer
    }
}

/// A screenshot.
public struct PageScreenshot: PagePart {
    /// Its address.
    public var link: String
    /// Words for people who do not see it.
    public var label: String
    /// Pixels of its width.
    public var width: Int
    /// Pixels of its height.
    public var height: Int

    /// Creates it.
    public init(link: String, label: String, width: Int, height: Int) {
        self.link = link
        self.label = label
        self.width = width
        self.height = height
    }
}

/// A clip with pictures.
public struct PageVideo: PagePart {
    /// Its address.
    public var link: String
    /// The address of the picture that stands for it.
    public var poster: String

    /// Creates it.
    public init(link: String, poster: String) {
        self.link = link
        self.poster = poster
    }
}

/// A name that leads to a page.
public struct PageLink: PagePart {
    /// The name.
    public var name: String
    /// The address.
    public var link: String

    /// Creates it.
    public init(name: String, link: String) {
        self.name = name
        self.link = link
    }
}

/// The button that leads to buying an item.
public struct PageOffer: PagePart {
    /// The address of the page that asks for a confirmation.
    public var link: String
    /// The button's words.
    public var label: String

    /// Creates it.
    public init(link: String, label: String) {
        self.link = link
        self.label = label
    }
}

/// Buying on a page in an app.
public struct PageBuying: PagePart {
    /// Whether the customer owns the item.
    public var isOwned: Bool
    /// The button; nil when there is nothing to buy.
    public var offer: PageOffer?

    /// Creates it.
    public init(isOwned: Bool, offer: PageOffer?) {
        self.isOwned = isOwned
        self.offer = offer
    }
}

/// A rating that can be chosen.
public struct PageStarChoice: PagePart {
    /// 1 to 5.
    public var stars: Int
    /// The rating in words.
    public var label: String
    /// Whether it is the customer's present rating.
    public var isChosen: Bool

    /// Creates it.
    public init(stars: Int, label: String, isChosen: Bool) {
        self.stars = stars
        self.label = label
        self.isChosen = isChosen
    }
}

/// The form for a customer's own review.
public struct PageReviewing: PagePart {
    /// The address that the form is sent to.
    public var action: String
    /// The form's heading.
    public var heading: String
    /// The button's words.
    public var button: String
    /// The ratings.
    public var choices: [PageStarChoice]
    /// The present title.
    public var title: String
    /// The present text.
    public var text: String
    /// The address of the form that removes the review; nil before the customer has written one.
    public var removal: String?

    /// Creates it.
    public init(
        action: String, heading: String, button: String, choices: [PageStarChoice], title: String, text: String,
        removal: String?
    ) {
        self.action = action
        self.heading = heading
        self.button = button
        self.choices = choices
        self.title = title
        self.text = text
        self.removal = removal
    }
}
