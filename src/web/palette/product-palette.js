// The custom element <product-palette>: product search as a dialog or below an input of the page.
// docs/palette.md describes its use.
import { fillInput, InputPopup } from './input-popup.js'
import {
  defaultHotkey,
  describeKeys,
  isHandledByInputMethod,
  isPendingAccent,
  matchesHotkey,
  queryFromText,
} from './keyboard.js'
import { PaletteDialog } from './palette-dialog.js'
import { findLanguage, loadTexts } from './palette-language.js'
import { groupActions, ResultList } from './result-list.js'
import { showFavourite } from './result-row.js'
import { findKeyProblem, logProblem, SearchRequests } from './search-requests.js'
import { StatusMessages } from './status-messages.js'
import { StoredProducts } from './stored-products.js'

/**
 * @import { Hit, PaletteAction, PaletteStrings, ProductPaletteInterface, RenderOption }
 *   from './palette.d.ts'
 */
/** @import { Choice } from './result-list.js' */
/** @import { Failure, SearchResponse } from './search-requests.js' */

/** The number of products without the attribute `limit`. */
const defaultLimit = 8
/** The maximum `limit` of the search endpoint. */
const maxLimit = 50
/** How many results the last option adds. */
const moreCount = 20

/** How many of the products that were chosen last are stored. */
const maxRecents = 5
/** How many products a user can mark as favourites. */
const maxFavourites = 50

/** Results that do not answer what is typed are dimmed after this time. A fast response is first. */
const dimDelayMs = 150

let instanceCount = 0
// Servers that render pages import this file too. They have no HTMLElement.
const Base = globalThis.HTMLElement ?? /** @type {unknown} */ (Object)

/** @implements {ProductPaletteInterface} */
export class ProductPalette extends Base {
  static observedAttributes = ['for']
  /** The base URL of the service for elements without `endpoint`. @type {string | null} */
  static defaultEndpoint = null

  /** @type {PaletteStrings | null} */
  #strings = null
  /** @type {RenderOption | null} */
  #renderOption = null
  /** @type {PaletteAction[]} */
  #actions = []
  #requests = new SearchRequests()
  #results = new ResultList(`product-palette-${++instanceCount}`)
  #messages = new StatusMessages()
  #language = findLanguage(document.documentElement)
  /** @type {PaletteDialog | InputPopup | null} */
  #view = null
  #mountController = new AbortController()
  #wasOpen = false
  /** @type {string | null} the query whose results are on the screen */
  #shownQuery = null
  /** @type {string | null} the query of the last request */
  #requestedQuery = null
  /** The number of products of the last response, before the page has changed them. */
  #receivedCount = 0
  #isBusy = false
  /** @type {boolean | null} Enter was pressed before the response arrived: whether to stay open. */
  #pendingChoice = null
  /** The user moved in results that did not answer what was typed, so Enter must not guess. */
  #hasMovedInOutdated = false
  /** Enter must be pressed again for this one. @type {Hit | null} */
  #questionedHit = null
  /** The choice is being written into the input of the page. */
  #isFilling = false
  /** Escape has closed the palette and is still held down. */
  #isEscapeDown = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #dimTimer

  constructor() {
    super()
    this.#takeEarlyProperties()
    this.#results.element.addEventListener('click', (event) => {
      if (this.#isOutdated) this.#refuseChoice()
      else if (this.#results.selectAt(event)) {
        const [target] = /** @type {Element[]} */ (event.composedPath())
        const part = target?.getAttribute('part')
        this.#results.hasMoved = true
        if (part === 'star') this.#toggleFavourite()
        else if (part === 'copy') this.#copySku()
        else this.#choose(event.ctrlKey || event.metaKey || part === 'add')
      }
    })
  }

  // Svelte sets only properties that have a setter in the prototype. Frameworks remove a property
  // by undefined.
  /** Texts of the page. They replace those of its language. */
  get strings() {
    return this.#strings
  }

  set strings(strings) {
    this.#strings = strings ?? null
  }

  /** The page's template of a product. */
  get renderOption() {
    return this.#renderOption
  }

  set renderOption(renderOption) {
    this.#renderOption = renderOption ?? null
  }

  /** What the page offers besides products. */
  get actions() {
    return this.#actions
  }

  set actions(actions) {
    this.#actions = actions ?? []
  }

  /** Takes over what the page set before this script was loaded. It would hide the accessors. */
  #takeEarlyProperties() {
    for (const name of ['strings', 'renderOption', 'actions']) {
      const value = Reflect.get(this, name)
      Reflect.deleteProperty(this, name)
      Reflect.set(this, name, value)
    }
  }

  connectedCallback() {
    this.#mount()
  }

  disconnectedCallback() {
    this.#unmount()
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#mount()
  }

  get isOpen() {
    return this.#view?.panel.matches(':modal, :popover-open') ?? false
  }

  show() {
    const view = this.#view
    if (!view) return this.isConnected && logProblem(`no input has the id ${this.#inputId}.`)
    if (!this.isOpen) this.#open(view)
    view.input.focus()
  }

  close() {
    if (!this.isOpen) return
    this.#view?.close()
    this.#handleClosed()
  }

  /* --- Mounting --- */

  #mount() {
    // When an element is upgraded, attributeChangedCallback has already mounted it.
    this.#unmount()
    this.#mountController = new AbortController()
    const { signal } = this.#mountController
    this.#view = this.#inputId === null ? this.#createDialog(signal) : this.#createPopup(signal)
    if (!this.#view) return
    this.#listenToInput(this.#view.input, signal)
    // Screen readers read the description of an input of the page when it is focused.
    this.#loadTexts()
    addEventListener('keydown', (event) => this.#handleHotkey(event), { signal })
    addEventListener('online', () => this.#requests.retry(), { signal })
    for (const type of /** @type {const} */ (['keydown', 'keyup']))
      addEventListener(type, (event) => this.#handleEscape(event), { signal, capture: true })
  }

  #unmount() {
    this.close()
    this.#mountController.abort()
    this.#results.release()
    this.#view?.panel.remove()
    this.#view = null
  }

  /** @param {AbortSignal} signal */
  #createDialog(signal) {
    const dialog = new PaletteDialog(this, this.#results, this.#messages, signal)
    dialog.panel.addEventListener('close', () => this.#handleClosed())
    dialog.panel.addEventListener('keydown', (event) => this.#handleHotkey(event))
    return dialog
  }

  get #inputId() {
    return this.getAttribute('for')
  }

  /**
   * Returns null while the tree has no input with the id. It may appear later or be replaced.
   * @param {AbortSignal} signal
   */
  #createPopup(signal) {
    const root = /** @type {Document | ShadowRoot} */ (this.getRootNode())
    const findInput = () => {
      const found = root.getElementById(this.#inputId ?? '')
      return found instanceof HTMLInputElement ? found : undefined
    }
    const observer = new MutationObserver(() => {
      if (findInput() !== this.#view?.input) this.#mount()
    })
    observer.observe(root, { subtree: true, childList: true, attributeFilter: ['id'] })
    signal.addEventListener('abort', () => observer.disconnect())
    const input = findInput()
    if (!input) return null
    return new InputPopup(this, input, this.#results, this.#messages, signal)
  }

  /** @param {HTMLInputElement} input @param {AbortSignal} signal */
  #listenToInput(input, signal) {
    // Not before somebody uses an input of the page: its framework may still have to find it as the
    // server has sent it.
    input.addEventListener('focus', () => this.#connect(input), { signal })
    if (input.matches(':focus')) this.#connect(input)
    const handleInput = (/** @type {Event} */ event) => {
      if (this.#isFilling) return
      this.#dimOutdatedSoon()
      if (isPendingAccent(/** @type {InputEvent} */ (event))) return
      if (!this.isOpen) this.show()
      this.#search()
    }
    input.addEventListener('input', handleInput, { signal })
    input.addEventListener('compositionend', () => this.#search(), { signal })
    input.addEventListener('keydown', (event) => this.#handleKeydown(event), { signal })
  }

  /** @param {HTMLInputElement} input */
  #connect(input) {
    this.#results.connect(input)
    this.#showTexts()
  }

  /* --- Opening and closing --- */

  /** @param {PaletteDialog | InputPopup} view */
  #open(view) {
    this.#requests.resume()
    this.#connect(view.input)
    this.#loadTexts()
    view.open()
    this.#wasOpen = true
    this.#requestedQuery = null
    this.#shownQuery = null
    this.#messages.clear()
    this.#showHits([])
    // The recent products answer the empty query.
    if (this.#query === '') this.#shownQuery = ''
    this.#emit('product-palette-open')
    this.#search()
  }

  async #loadTexts() {
    const areNew = await loadTexts(this)
    this.#showTexts()
    // Results that came before the texts are still in the other language.
    if (!areNew || this.#shownQuery === null) return
    this.#shownQuery = null
    this.#requestedQuery = null
    this.#search()
  }

  #showTexts() {
    const view = this.#view
    if (!view) return
    this.#language = findLanguage(this, this.strings)
    const { texts, code } = this.#language
    this.#results.element.ariaLabel = texts.list
    const favourite = this.getAttribute('favourites') === 'off' ? null : texts.hints.favourite
    this.#results.describe(describeKeys(texts.hints, favourite))
    // The label and the placeholder of an input of the page belong to the page.
    if (view instanceof PaletteDialog)
      view.showTexts(texts, code, this.getAttribute('placeholder'), favourite)
  }

  /** Runs after close() and after the browser has closed the dialog by itself. */
  #handleClosed() {
    if (!this.#wasOpen || this.isOpen) return
    this.#wasOpen = false
    this.#requests.cancel()
    clearTimeout(this.#dimTimer)
    this.#pendingChoice = null
    this.#setBusy(false)
    this.#messages.reset()
    this.#results.collapse()
    this.#emit('product-palette-close')
  }

  /** @param {KeyboardEvent} event */
  #handleHotkey(event) {
    if (!matchesHotkey(event, this.getAttribute('hotkey') ?? defaultHotkey)) return
    // Also while the keys are held down: the browser has a shortcut of its own for Ctrl+K.
    event.preventDefault()
    if (event.repeat) return
    if (this.isOpen && this.#view instanceof PaletteDialog) this.close()
    else this.show()
  }

  /**
   * Returns false if a listener called preventDefault().
   * @param {string} type
   * @param {unknown} [detail]
   */
  #emit(type, detail = null) {
    const options = { detail, bubbles: true, composed: true, cancelable: true }
    return this.dispatchEvent(new CustomEvent(type, options))
  }

  /* --- Searching --- */

  get #query() {
    return queryFromText(this.#view?.input.value ?? '')
  }

  /** Whether the results on the screen do not answer what is typed. */
  get #isOutdated() {
    return this.#query !== this.#shownQuery
  }

  /** Dims the results now if they do not answer what is typed. */
  #dimOutdated() {
    clearTimeout(this.#dimTimer)
    this.#results.dim(this.#isOutdated)
  }

  /** A fast response comes first, so that the list does not flicker. */
  #dimOutdatedSoon() {
    clearTimeout(this.#dimTimer)
    this.#dimTimer = setTimeout(() => this.#dimOutdated(), this.#isOutdated ? dimDelayMs : 0)
  }

  #search() {
    if (!this.isOpen) return
    const query = this.#query
    // The text can change without changing the query, for example by a trailing space.
    const isAnswered = query === this.#shownQuery
    if (query === this.#requestedQuery && (this.#isBusy || isAnswered)) return
    this.#requestedQuery = query
    this.#pendingChoice = null
    this.#questionedHit = null
    this.#hasMovedInOutdated = false
    this.#results.hasMoved = false
    this.#request(this.#searchUrl(query), (response) => this.#showResponse(query, response))
  }

  /** Shows more results of the same query. The first new one becomes active. */
  #showMore() {
    const query = this.#query
    const firstNewIndex = this.#results.activeIndex
    const limit = this.#receivedCount + moreCount
    this.#request(this.#searchUrl(query, limit), (response) => {
      this.#showResponse(query, response)
      this.#results.reveal(firstNewIndex)
    })
  }

  /**
   * Shows each failure before it calls `onFailure`.
   * @param {string} url
   * @param {(response: SearchResponse) => void} onResponse
   * @param {() => void} [onFailure]
   */
  #request(url, onResponse, onFailure) {
    const onOutcome = (/** @type {SearchResponse | Failure} */ outcome) => {
      this.#setBusy(false)
      if ('hits' in outcome) return onResponse(outcome)
      this.#showFailure(outcome)
      onFailure?.()
    }
    this.#setBusy(true)
    const reason = findKeyProblem(this.#key, url)
    if (!reason) return this.#requests.request(url, onOutcome)
    this.#requests.cancel()
    onOutcome({ reason, retryAt: Infinity })
  }

  /** React, Vue and Preact reserve the attribute `key`. */
  get #key() {
    return this.getAttribute('api-key') ?? this.getAttribute('key')
  }

  /** @param {URLSearchParams} parameters */
  #urlOf(parameters) {
    const key = this.#key
    if (key) parameters.set('key', key)
    return `${this.#endpoint.replace(/\/+$/, '')}/api/search?${parameters}`
  }

  /** The page may add filters. @param {string} query @param {number} [limit] */
  #searchUrl(query, limit = Number(this.getAttribute('limit')) || defaultLimit) {
    const parameters = new URLSearchParams({ q: query, limit: `${Math.min(maxLimit, limit)}` })
    this.#emit('product-palette-search', { query, parameters })
    return this.#urlOf(parameters)
  }

  get #endpoint() {
    const endpoint = this.getAttribute('endpoint') ?? ProductPalette.defaultEndpoint
    if (endpoint === null) logProblem('set the attribute endpoint.')
    return new URL(endpoint ?? '', document.baseURI).href
  }

  /** @param {boolean} isBusy */
  #setBusy(isBusy) {
    this.#isBusy = isBusy
    this.#view?.panel.toggleAttribute('data-busy', isBusy)
  }

  /* --- Showing results --- */

  /** @param {string} query @param {SearchResponse} response */
  #showResponse(query, response) {
    const { texts } = this.#language
    this.#messages.clear()
    // If a listener or the template of the page fails, nothing that is shown may be chosen.
    this.#shownQuery = null
    const { hits, total } = response
    // The page may leave out products, add some or change them.
    const results = { query, hits, total }
    this.#emit('product-palette-results', results)
    this.#receivedCount = hits.length
    this.#showHits(results.hits, response.query, Math.min(total, maxLimit) - hits.length)
    clearTimeout(this.#dimTimer)
    this.#shownQuery = query
    if (this.#hasMovedInOutdated) this.#results.deactivate()
    this.#hasMovedInOutdated = false
    // An incomplete answer without products does not mean that there are none.
    const degraded = response.meta?.degraded === true ? texts.degraded : ''
    const hasCount = query !== '' && !(degraded && results.total === 0)
    const count = hasCount ? texts.count(results.hits.length, results.total) : ''
    const corrected = response.meta?.corrected?.map(({ from, to }) => `${from} → ${to}`) ?? []
    const status = [count, ...corrected, degraded].filter((text) => text !== '')
    this.#messages.showStatus(status.join(' · '), degraded && 'degraded')
    if (this.#results.isEmpty) {
      const nothing = degraded || texts.nothing(query)
      this.#messages.showNothing(nothing, texts.advice)
      this.#messages.announce(nothing)
    } else {
      this.#messages.announce(status.join('. '))
    }
    if (this.#pendingChoice !== null) this.#choose(this.#pendingChoice)
  }

  /**
   * Shows the hits and the actions of the page. For the empty query, the products that the user
   * chose last come first.
   * @param {Hit[]} hits
   * @param {string} [query] the query of the response
   * @param {number} [remaining] how many further products the palette can show
   */
  #showHits(hits, query = '', remaining = 0) {
    const { texts, language } = this.#language
    const isEmptyQuery = query === '' && this.#query === ''
    const more = remaining > 0 ? [{ label: texts.more(Math.min(moreCount, remaining)) }] : []
    const products = isEmptyQuery
      ? this.#groupsOfEmptyQuery(hits)
      : [{ choices: [...hits.map((hit) => ({ hit })), ...more] }]
    this.#results.show([...products, ...groupActions(this.#actions, this.#query)], {
      language,
      renderOption: this.renderOption,
      favourites: this.#favourites?.read(),
      texts,
    })
    this.#messages.message.hidden = !this.#results.isEmpty
    this.#messages.message.replaceChildren()
  }

  /** @param {Hit[]} popular */
  #groupsOfEmptyQuery(popular) {
    const { texts } = this.#language
    const favourites = this.#favourites?.read() ?? []
    const recents = without(this.#recentProducts?.read() ?? [], favourites)
    const others = without(popular, [...favourites, ...recents])
    return [
      { heading: texts.favourites, choices: favourites.map((hit) => ({ hit, stored: true })) },
      { heading: texts.recent, choices: recents.map((hit) => ({ hit, stored: true })) },
      { heading: texts.popular, choices: others.map((hit) => ({ hit })) },
    ]
  }

  /** The products chosen last, or null if the page has switched them off. */
  get #recentProducts() {
    return this.#storedProducts('recents', 'product-palette', maxRecents)
  }

  /** The products that the user has marked, or null if the page has switched them off. */
  get #favourites() {
    return this.#storedProducts('favourites', 'product-palette-favourites', maxFavourites)
  }

  /** @param {string} attribute @param {string} name @param {number} maxLength */
  #storedProducts(attribute, name, maxLength) {
    // Each service has its own lists.
    return this.getAttribute(attribute) === 'off'
      ? null
      : new StoredProducts(`${name}:${this.#endpoint}`, maxLength)
  }

  /** @param {Failure} failure */
  #showFailure(failure) {
    this.#pendingChoice = null
    // Without a valid key nobody may see what an earlier one has found, and without a retry nothing
    // will replace it.
    if (failure.retryAt === Infinity) {
      this.#shownQuery = null
      this.#results.show([])
      this.#messages.showStatus('')
    }
    this.#dimOutdated()
    this.#messages.showFailure(failure, this.#language.texts, !this.#results.isEmpty)
  }

  /* --- Choosing --- */

  /** @param {KeyboardEvent} event */
  #handleKeydown(event) {
    const { key, shiftKey, altKey } = event
    if (isHandledByInputMethod(event)) {
      // WebKit would close the dialog.
      if (key === 'Escape' && this.isOpen) event.preventDefault()
      return
    }
    const hasControl = event.ctrlKey || event.metaKey
    const { selectionStart, selectionEnd } = this.#view?.input ?? {}
    const hasSelectedText = selectionStart !== selectionEnd
    if (key === 'Enter' && this.isOpen && !altKey) {
      if (!this.#results.isEmpty || this.#isBusy) event.preventDefault()
      if (shiftKey) this.#toggleFavourite()
      else this.#choose(hasControl)
    } else if (hasControl && key === 'c' && !hasSelectedText && this.#results.active) {
      event.preventDefault()
      this.#copySku()
    } else if (!hasControl && !shiftKey && !altKey) {
      this.#handleMovement(event)
    }
  }

  /**
   * Closes the palette before anything around it, for example a dialog of the page, sees the key.
   * @param {KeyboardEvent} event
   */
  #handleEscape(event) {
    if (event.key !== 'Escape' || isHandledByInputMethod(event)) return
    const isDown = event.type === 'keydown'
    if (!(isDown && this.isOpen) && !(this.#isEscapeDown && (!isDown || event.repeat))) return
    event.preventDefault()
    event.stopImmediatePropagation()
    this.#isEscapeDown = isDown
    this.close()
  }

  /** @param {KeyboardEvent} event */
  #handleMovement(event) {
    const index = this.#results.indexForKey(event.key)
    if (index === null) return
    event.preventDefault()
    if (this.isOpen && this.#isOutdated) {
      this.#pendingChoice = null
      this.#hasMovedInOutdated = true
    } else if (this.isOpen) this.#results.reveal(index)
    else this.show()
  }

  /**
   * Chooses the active option, but never one that does not answer what is typed. Before the
   * response, Enter waits and then chooses its first result, unless the service asked to wait.
   * @param {boolean} stay whether the palette stays open
   */
  async #choose(stay) {
    const waits = this.#isBusy && !this.#hasMovedInOutdated && !this.#requests.isPaused
    if (waits && (this.#isOutdated || !this.#results.hasMoved)) {
      this.#pendingChoice = stay
      return
    }
    if (this.#isOutdated) return this.#refuseChoice()
    this.#pendingChoice = null
    const option = this.#results.active
    if (!option) return
    const query = this.#query
    const { action } = option
    if (action) {
      this.close()
      this.#emit('product-palette-action', { action, query })
      return
    }
    if (!option.hit) return this.#showMore()
    if (this.#mustAsk(option, query)) {
      this.#questionedHit = option.hit
      return this.#messages.refuse(this.#language.texts.inexact(option.hit.name))
    }
    const hit = option.stored ? await this.#fetchCurrentHit(option.hit) : option.hit
    if (!hit || !this.isOpen) return
    this.#recentProducts?.add(hit)
    const isPrevented = !this.#emit('product-select', { hit, query, stay })
    this.#messages.announce(this.#language.texts.chosen(hit.name), 0)
    option.row.setAttribute('part', 'option active chosen')
    if (stay || isPrevented) return
    this.close()
    if (!(this.#view instanceof InputPopup)) return
    this.#isFilling = true
    fillInput(this.#view.input, hit.name)
    this.#isFilling = false
  }

  /**
   * Whether Enter would choose a product that the user has not selected, for a code that it does
   * not have as typed. The attribute `confirm` switches this off.
   * @param {Choice} option
   * @param {string} query
   */
  #mustAsk({ hit, stored }, query) {
    const isInexact = hit?.match === 'corrected' || hit?.match === 'some_words'
    if (stored || !isInexact || this.#questionedHit === hit || !/\d/.test(query)) return false
    return !this.#results.hasMoved && this.getAttribute('confirm') !== 'off'
  }

  async #copySku() {
    if (this.#isOutdated) return this.#refuseChoice()
    const { hit } = this.#results.active ?? {}
    if (!hit || !this.#view || !(await copyText(hit.sku, this.#view.input))) return
    this.#messages.say(this.#language.texts.copied(hit.sku))
  }

  /**
   * Marks the active product as a favourite, or no longer. The list changes when it is next shown.
   */
  #toggleFavourite() {
    if (this.#isOutdated) return this.#refuseChoice()
    const { hit, row } = this.#results.active ?? {}
    const favourites = this.#favourites
    if (!hit || !row || !favourites) return
    const isFavourite = favourites.toggle(hit)
    showFavourite(row, isFavourite)
    const { texts } = this.#language
    this.#messages.announce((isFavourite ? texts.marked : texts.unmarked)(hit.name), 0)
    this.#emit('product-palette-favourite', { hit, isFavourite })
  }

  /** Says that nothing was chosen. After a failure, the search is tried again now. */
  #refuseChoice() {
    this.#messages.refuse(this.#language.texts.notChosen(this.#query))
    if (!this.#isBusy) this.#requests.retry()
  }

  /**
   * Fetches a stored product as it is in the catalogue now, by its SKU or, if that has changed, by
   * its name. After a failure, which the palette shows, it waits for the next attempt. Returns null
   * if the product was not found, or if the user has moved to another one since a failure.
   * @param {Hit} stored
   * @returns {Promise<Hit | null>}
   */
  #fetchCurrentHit(stored) {
    let hasFailed = false
    return new Promise((resolve) => {
      const find = (/** @type {string} */ text) =>
        this.#request(
          this.#urlOf(new URLSearchParams({ q: text, limit: `${maxLimit}` })),
          ({ hits, meta }) => {
            this.#messages.clear()
            if (hasFailed) this.#messages.showStatus('')
            const hit = hits.find(({ id }) => id === stored.id) ?? null
            if (!hit && text !== stored.name) return find(stored.name)
            if (!hit && meta?.degraded) this.#messages.refuse(this.#language.texts.degraded)
            else if (!hit) this.#removeDeletedProduct(stored)
            const isWanted = !hasFailed || this.#results.active?.hit?.id === stored.id
            resolve(isWanted ? hit : null)
          },
          () => {
            hasFailed = true
          },
        )
      find(stored.sku)
    })
  }

  /** @param {Hit} deleted */
  #removeDeletedProduct({ id, name }) {
    this.#recentProducts?.remove(id)
    this.#favourites?.remove(id)
    this.#requestedQuery = null
    this.#search()
    this.#messages.say(this.#language.texts.deleted(name), 'trouble')
  }
}

/** Returns the products that are not in `excluded`. @param {Hit[]} hits @param {Hit[]} excluded */
function without(hits, excluded) {
  return hits.filter(({ id }) => !excluded.some((other) => other.id === id))
}

/**
 * Copies a text to the clipboard. Returns whether it was copied.
 * @param {string} text
 * @param {HTMLInputElement} input has the focus
 */
async function copyText(text, input) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages without https have no clipboard, but they may copy what is selected.
    const write = (/** @type {ClipboardEvent} */ event) => {
      event.clipboardData?.setData('text/plain', text)
      event.preventDefault()
    }
    input.select()
    addEventListener('copy', write, { capture: true, once: true })
    const isCopied = document.execCommand('copy')
    removeEventListener('copy', write, true)
    input.setSelectionRange(input.value.length, input.value.length)
    return isCopied
  }
}
