// <product-palette>: product search at every keystroke, as a dialog behind Ctrl+K or on an input of the page. Runs as it stands here: no framework,
// no build. docs/palette.md says how to use it.

/** @import { Hit, ProductPaletteInterface } from './palette.d.ts' */
/** @typedef {{ query: string, hits: Hit[], total: number, meta?: { degraded?: boolean } }} Answer */
/** @typedef {'offline' | 'unreachable' | 'unavailable' | 'limited' | 'unauthenticated' | 'forbidden'} Trouble */
/** @typedef {{ trouble: Trouble, until: number }} Failure until: the instant (ms) of the next try; Infinity: none before it is opened anew */
/** @typedef {{ hit: Hit, isRecent: boolean, node: HTMLElement }} Option */

const words = {
  es: {
    title: 'Buscar productos',
    list: 'Productos',
    close: 'Cerrar: esc',
    recent: 'Recientes',
    popular: 'Más presupuestados',
    count: (/** @type {number} */ shown, /** @type {number} */ total) =>
      total === 1
        ? '1 resultado'
        : `${shown < total ? `${shown} de ` : ''}${total >= 1000 ? '1000 o más' : total} resultados`,
    nothing: (/** @type {string} */ query) => `Nada para «${query}»`,
    advice: 'Prueba con menos letras, otra palabra o el código.',
    chosen: (/** @type {string} */ name) => `Elegido: ${name}`,
    gone: (/** @type {string} */ name) => `«${name}» ya no está en el catálogo`,
    degraded: 'Búsqueda de reserva: puede faltar algo',
    offline: 'Sin conexión. Sigo en cuanto vuelva.',
    unreachable: 'No se llega al buscador. Reintentando…',
    unavailable: 'El buscador no responde ahora. Reintentando…',
    limited: (/** @type {number} */ seconds) => `Demasiadas búsquedas. Sigo en ${seconds} s.`,
    unauthenticated: 'Sin acceso: la clave falta o no es válida.',
    forbidden: 'Sin acceso: esta clave no permite buscar aquí.',
    hints: { move: 'moverse', pick: 'elegir', more: 'elegir y seguir' },
  },
  en: {
    title: 'Search products',
    list: 'Products',
    close: 'Close: esc',
    recent: 'Recent',
    popular: 'Most quoted',
    count: (/** @type {number} */ shown, /** @type {number} */ total) =>
      total === 1
        ? '1 result'
        : `${shown < total ? `${shown} of ` : ''}${total >= 1000 ? '1000 or more' : total} results`,
    nothing: (/** @type {string} */ query) => `Nothing for “${query}”`,
    advice: 'Try fewer letters, another word or the code.',
    chosen: (/** @type {string} */ name) => `Chosen: ${name}`,
    gone: (/** @type {string} */ name) => `“${name}” is no longer in the catalogue`,
    degraded: 'Reserve search: something may be missing',
    offline: 'Offline. Goes on when you are back.',
    unreachable: 'The search cannot be reached. Trying again…',
    unavailable: 'The search is not available now. Trying again…',
    limited: (/** @type {number} */ seconds) => `Too many searches. Goes on in ${seconds} s.`,
    unauthenticated: 'No access: the key is missing or not valid.',
    forbidden: 'No access: this key may not search here.',
    hints: { move: 'move', pick: 'choose', more: 'choose and go on' },
  },
}

const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform)
const units = /** @type {Record<string, string>} */ ({
  KGM: 'kg',
  GRM: 'g',
  MTR: 'm',
  MTK: 'm²',
  MTQ: 'm³',
  LTR: 'l',
})
let count = 0

/* ---------- asking ---------- */

const keepMs = 60_000
const keepAtMost = 100
const patienceMs = 8_000

/**
 * Asks for one query at a time. A newer one cancels the older, whose answer is dropped even when it comes; what failed is tried again, at a 429 not
 * before it may. Answers of the last minute are given at once.
 */
class Source {
  /** @type {Map<string, { answer: Answer, at: number }>} */
  #known = new Map()
  #stop = new AbortController()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry
  #failures = 0
  #pausedUntil = 0
  /** @type {{ url: string, tell(outcome: Answer | Failure): void } | null} */
  #wanted = null

  /** @param {string} url @param {(outcome: Answer | Failure) => void} tell called at once when the answer is known */
  ask(url, tell) {
    this.cancel()
    const known = this.#known.get(url)
    if (known && Date.now() - known.at < keepMs) return tell(known.answer)
    this.#wanted = { url, tell }
    if (this.#pausedUntil > Date.now()) this.#again(this.#pausedUntil)
    else void this.#fetch()
  }

  /** Nothing is wanted any more. */
  cancel() {
    this.#stop.abort()
    clearTimeout(this.#retry)
    this.#wanted = null
  }

  /** Whoever was refused may try again. */
  forgive() {
    if (this.#pausedUntil === Infinity) this.#pausedUntil = 0
  }

  /** Tries now what waits for a connection. */
  wake() {
    if (this.#wanted && this.#pausedUntil <= Date.now()) void this.#fetch()
  }

  async #fetch() {
    if (!this.#wanted) return
    const { url, tell } = this.#wanted
    this.#stop.abort()
    clearTimeout(this.#retry)
    this.#stop = new AbortController()
    const { signal } = this.#stop
    /** @type {Failure} */
    let failure
    try {
      // No header and no body of our own: a simple request, which no browser asks leave for first.
      const response = await fetch(url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
      })
      if (response.ok) {
        const answer = /** @type {Answer} */ (await response.json())
        if (!Array.isArray(answer?.hits)) throw new TypeError('not an answer of the search')
        if (signal.aborted) return
        this.#failures = 0
        this.#wanted = null
        if (!answer.meta?.degraded) this.#remember(url, answer)
        return tell(answer)
      }
      failure = this.#refusal(response)
    } catch {
      failure = {
        trouble: navigator.onLine ? 'unreachable' : 'offline',
        until: Date.now() + this.#backOff(),
      }
    }
    if (signal.aborted) return
    this.#again(failure.until)
    tell(failure)
  }

  /** @param {Response} response @returns {Failure} */
  #refusal({ status, headers }) {
    if (status === 401 || status === 403) this.#pausedUntil = Infinity
    const seconds = Number(headers.get('retry-after')) || 0
    const until = Date.now() + (seconds * 1000 || this.#backOff())
    if (status === 429 || seconds > 0) this.#pausedUntil = until
    if (status === 401) return { trouble: 'unauthenticated', until: Infinity }
    if (status === 403) return { trouble: 'forbidden', until: Infinity }
    return { trouble: status === 429 ? 'limited' : 'unavailable', until }
  }

  /** @param {number} until */
  #again(until) {
    if (until !== Infinity) this.#retry = setTimeout(() => this.#fetch(), until - Date.now())
  }

  #backOff() {
    return Math.min(1000 * 2 ** this.#failures++, 15_000)
  }

  /** @param {string} url @param {Answer} answer */
  #remember(url, answer) {
    this.#known.set(url, { answer, at: Date.now() })
    for (const old of this.#known.keys()) {
      if (this.#known.size <= keepAtMost) break
      this.#known.delete(old)
    }
  }
}

/* ---------- remembering what was chosen ---------- */

const recentAtMost = 5

/** The last products chosen here, newest first, without their prices, which may change. A browser that keeps nothing keeps nothing. */
class Recents {
  /** @param {string} name */
  constructor(name) {
    this.name = `product-palette:${name}`
  }

  /** @returns {Hit[]} */
  read() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.name) ?? '[]')
      const isHit = (/** @type {Partial<Hit> | null} */ hit) =>
        [hit?.id, hit?.sku, hit?.name].every((text) => typeof text === 'string')
      return kept
        .filter(isHit)
        .slice(0, recentAtMost)
        .map((/** @type {Hit} */ hit) => ({ ...hit, price: null, highlights: {} }))
    } catch {
      return []
    }
  }

  /** @param {Hit} hit @param {boolean} [isGone] taken out, then, and not put first */
  put({ id, sku, name, category, brand }, isGone = false) {
    const others = this.read().filter((hit) => hit.id !== id)
    const hits = isGone ? others : [{ id, sku, name, category, brand }, ...others]
    try {
      localStorage.setItem(this.name, JSON.stringify(hits.slice(0, recentAtMost)))
    } catch {}
  }
}

/* ---------- making elements ---------- */

/**
 * An element with its part, which is also what the style sheet knows it by.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} part @param {Record<string, string>} [attributes] @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
function make(name, part, attributes = {}, ...children) {
  const element = document.createElement(name)
  if (part) element.setAttribute('part', part)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

/** @param {string} path drawn on 16 by 16 */
function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const line = document.createElementNS(svg.namespaceURI, 'path')
  for (const [key, value] of Object.entries({
    part: 'icon',
    viewBox: '0 0 16 16',
    'aria-hidden': 'true',
  }))
    svg.setAttribute(key, value)
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}

const magnifier = 'M11.2 11.2 14.5 14.5M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0Z'
const cross = 'm4 4 8 8M12 4l-8 8'
const clock = 'M8 4.5V8l2.2 1.6M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0Z'

/**
 * A value with its matches marked: text nodes only, whatever it holds. Ranges that do not fit are left out.
 * @param {string} text @param {[number, number][]} [ranges] in UTF-16 code units
 */
function marked(text, ranges = []) {
  const pieces = document.createDocumentFragment()
  let done = 0
  for (const [start, length] of ranges) {
    if (!(start >= done && length > 0 && start + length <= text.length)) continue
    pieces.append(
      text.slice(done, start),
      make('mark', 'mark', {}, text.slice(start, start + length)),
    )
    done = start + length
  }
  pieces.append(text.slice(done))
  return pieces
}

/**
 * The amount as people write it, with exactly the digits it came with.
 * @param {Hit} hit @param {string} language
 */
function priceOf({ price, unit }, language) {
  if (!price) return ''
  const digits = price.amount.split('.')[1]?.length ?? 0
  const format = {
    style: /** @type {const} */ ('currency'),
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }
  let text = `${price.amount} ${price.currency}`
  try {
    // As a string: a price is no float.
    text = new Intl.NumberFormat(language, { ...format, currency: price.currency }).format(
      /** @type {`${number}`} */ (price.amount),
    )
  } catch {}
  const per = units[unit ?? '']
  return per ? `${text} / ${per}` : text
}

/* ---------- how it looks ---------- */

// Flat and by part, so that one sheet serves both the shadow tree and the list in the page's own.
const looks = `
  display: contents;
  --_ink: var(--product-palette-ink, light-dark(#16242a, #e7eef0));
  --_quiet: var(--product-palette-quiet, light-dark(#55656d, #a3b2b8));
  --_surface: var(--product-palette-surface, light-dark(#fff, #161e21));
  --_rule: var(--product-palette-rule, light-dark(#e1e8ea, #2c383d));
  --_accent: var(--product-palette-accent, light-dark(#0b5563, #7fc9d6));
  --_active: var(--product-palette-active, color-mix(in oklab, var(--_accent) 9%, var(--_surface)));
  --_mark: var(--product-palette-mark, color-mix(in oklab, var(--_accent) 20%, transparent));
  --_warn: var(--product-palette-warn, light-dark(#7a4a00, #efc77e));
  --_radius: var(--product-palette-radius, 0.75em);

  [part~="dialog"] {
    inset: 0;
    margin: 0;
    border: 0;
    padding: 0;
    inline-size: 100%;
    block-size: 100%;
    max-inline-size: none;
    max-block-size: none;
    overflow: hidden;
    background: none;
    font-size: var(--product-palette-font-size, 0.9375rem);
  }
  [part~="dialog"]::backdrop {
    background: var(--product-palette-backdrop, light-dark(rgb(20 34 40 / 0.24), rgb(0 0 0 / 0.55)));
  }
  [part~="panel"] {
    display: flex;
    flex-direction: column;
    box-sizing: border-box;
    inline-size: min(var(--product-palette-width, 42em), 100% - 1em);
    max-block-size: calc(100% - 1em);
    margin: clamp(0.5em, var(--product-palette-top, 14vh), max(0.5em, 100vh - 34em)) auto 0;
    border: 1px solid var(--_rule);
    border-radius: var(--_radius);
    overflow: hidden;
    background: var(--_surface);
    color: var(--_ink);
    font-family: var(--product-palette-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);
    font-weight: 400;
    line-height: 1.35;
    letter-spacing: normal;
    text-align: start;
    box-shadow: var(--product-palette-shadow, 0 1.2em 3.5em -0.6em rgb(8 24 30 / 0.35), 0 0.2em 0.6em rgb(8 24 30 / 0.12));
  }
  [part~="popup"] {
    position: fixed;
    inset: auto;
    margin: 0;
    padding: 0;
    font-size: var(--product-palette-font-size, 0.9375rem);
  }
  [part~="popup"]:not(:popover-open) {
    display: none;
  }
  [part~="header"] {
    display: flex;
    align-items: center;
    gap: 0.7em;
    flex: none;
    padding-inline: 1em 0.7em;
    border-block-end: 1px solid var(--_rule);
  }
  [part~="header"]:has([part~="input"]:focus-visible) {
    border-color: var(--_accent);
  }
  [part~="icon"] {
    flex: none;
    inline-size: 1.1em;
    block-size: 1.1em;
    vertical-align: -0.15em;
    fill: none;
    stroke: var(--_quiet);
    stroke-width: 1.4;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  [part~="input"] {
    flex: 1;
    min-inline-size: 0;
    margin: 0;
    border: 0;
    padding: 0.85em 0;
    outline: 0;
    background: none;
    color: inherit;
    caret-color: var(--_accent);
    font: inherit;
    font-size: 1.15em;
  }
  [part~="input"]::placeholder {
    color: var(--_quiet);
    opacity: 1;
  }
  [part~="close"], [part~="key"] {
    border: 1px solid var(--_rule);
    border-radius: 0.4em;
    background: none;
    color: var(--_quiet);
    font: inherit;
    font-size: 0.75em;
    line-height: 1.4;
  }
  [part~="close"] {
    flex: none;
    min-inline-size: 2.4em;
    padding: 0.4em 0.6em;
    cursor: pointer;
  }
  [part~="close"]:hover {
    color: var(--_ink);
    background: var(--_active);
  }
  [part~="close"]:focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 1px;
  }
  [part~="progress"] {
    flex: none;
    block-size: 2px;
    margin-block-end: -2px;
    z-index: 1;
    background: linear-gradient(90deg, transparent, var(--_accent), transparent) 0 0 / 40% 100% no-repeat;
    opacity: 0;
  }
  [data-busy] [part~="progress"] {
    /* Who is answered at once sees nothing of it. */
    animation: product-palette-appear 0.2s 0.35s forwards, product-palette-pass 1.1s 0.35s linear infinite;
  }
  [part~="results"] {
    display: flex;
    flex-direction: column;
    flex: 0 1 auto;
    min-block-size: 3.5em;
    /* The same whatever is found: nothing jumps while one types. */
    block-size: var(--product-palette-height, 27.2em);
  }
  [part~="popup"] [part~="results"] {
    block-size: auto;
    max-block-size: var(--product-palette-height, 27.2em);
  }
  [part~="list"] {
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: 0.4em;
    scroll-padding-block: 0.4em;
    scrollbar-width: thin;
    scrollbar-color: var(--_rule) transparent;
  }
  [hidden] {
    display: none !important;
  }
  [part~="heading"] {
    padding: 0.5em 0.9em 0.3em;
    color: var(--_quiet);
    font-size: 0.78em;
    font-weight: 600;
  }
  [part~="group"] + [part~="group"] {
    margin-block-start: 0.4em;
  }
  [part~="option"] {
    position: relative;
    display: flex;
    align-items: center;
    gap: 0.7em;
    padding: 0.42em 0.7em;
    border-radius: calc(var(--_radius) - 0.3em);
    cursor: pointer;
    user-select: none;
    -webkit-tap-highlight-color: transparent;
  }
  [part~="active"] {
    background: var(--_active);
  }
  [part~="active"]::before {
    content: "";
    position: absolute;
    inset-block: 0.7em;
    inset-inline-start: 0;
    inline-size: 3px;
    border-radius: 2px;
    background: var(--_accent);
  }
  [part~="text"] {
    flex: 1;
    min-inline-size: 0;
  }
  [part~="name"], [part~="detail"] {
    display: block;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    text-align: start;
  }
  [part~="name"] {
    font-weight: 500;
  }
  [part~="detail"] {
    color: var(--_quiet);
    font-size: 0.82em;
  }
  [part~="sku"], [part~="price"] {
    font-variant-numeric: tabular-nums;
    unicode-bidi: isolate;
  }
  [part~="price"] {
    flex: none;
    font-size: 0.92em;
  }
  [part~="chosen"] [part~="price"]::after {
    content: " ✓" / "";
    color: var(--_accent);
    font-weight: 700;
  }
  [part~="mark"] {
    border-radius: 0.2em;
    background: var(--_mark);
    color: var(--_ink);
  }
  [part~="message"] {
    display: flex;
    flex-direction: column;
    justify-content: center;
    gap: 0.3em;
    flex: 1;
    padding: 1.2em;
    color: var(--_quiet);
    text-align: center;
    overflow-wrap: anywhere;
    overflow-y: auto;
  }
  [part~="message"] strong {
    color: var(--_ink);
    font-weight: 600;
  }
  [part~="footer"] {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 1em;
    flex: none;
    min-block-size: 2.3em;
    padding: 0.3em 1em;
    box-sizing: border-box;
    border-block-start: 1px solid var(--_rule);
    color: var(--_quiet);
    font-size: 0.8em;
  }
  [part~="trouble"], [part~="degraded"] {
    color: var(--_warn);
  }
  [part~="hints"] {
    display: flex;
    flex: none;
    gap: 1.2em;
  }
  [part~="hint"] {
    display: flex;
    align-items: center;
    gap: 0.3em;
  }
  [part~="key"] {
    min-inline-size: 1.1em;
    padding: 0 0.3em;
    font-size: 0.9em;
    text-align: center;
  }
  [part~="live"] {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  @media (max-width: 36em), (hover: none) {
    [part~="hints"] {
      display: none;
    }
  }
  @media (hover: none) {
    [part~="close"] {
      border: 0;
      padding: 0.5em;
      font-size: 1em;
    }
    [part~="close-key"] {
      display: none;
    }
  }
  @media not all and (hover: none) {
    [part~="close"] [part~="icon"] {
      display: none;
    }
  }
  @media (max-width: 36em), (max-height: 34em) {
    [part~="panel"]:not([part~="popup"]) {
      margin-block-start: 0.5em;
    }
  }
  @media (max-height: 24em) {
    [part~="footer"] {
      min-block-size: 0;
      padding-block: 0.1em;
    }
  }
  @media (prefers-reduced-motion: no-preference) {
    [part~="dialog"][open] [part~="panel"] {
      animation: product-palette-appear 0.12s ease-out, product-palette-settle 0.12s ease-out;
    }
  }
  @media (prefers-reduced-motion: reduce) {
    [data-busy] [part~="progress"] {
      animation: product-palette-appear 0.2s 0.35s forwards;
      background: var(--_accent);
    }
  }
  @media (forced-colors: active) {
    [part~="progress"] {
      forced-color-adjust: none;
      background: Highlight;
    }
    [part~="active"] {
      forced-color-adjust: none;
      background: Highlight;
      color: HighlightText;
    }
    [part~="active"] * {
      color: inherit;
      stroke: currentColor;
    }
    [part~="mark"] {
      background: none;
      color: inherit;
      text-decoration: underline 2px;
    }
    [part~="icon"] {
      stroke: CanvasText;
    }
  }
`
const motions = `
@keyframes product-palette-appear { from { opacity: 0 } to { opacity: 1 } }
@keyframes product-palette-settle { from { transform: translateY(-0.4em) scale(0.985) } }
@keyframes product-palette-pass { from { background-position: -60% 0 } to { background-position: 160% 0 } }
`

/** @type {Map<string, CSSStyleSheet>} */
const sheets = new Map()

/**
 * The style sheet under a host, constructed: a page's policy about inline styles is none of its business.
 * @param {string} host
 */
function sheetFor(host) {
  let sheet = sheets.get(host)
  if (!sheet) {
    const themed = (/** @type {string} */ theme) =>
      host === ':host' ? `:host([theme=${theme}])` : `${host}[theme=${theme}]`
    sheet = new CSSStyleSheet()
    sheet.replaceSync(
      `${motions}${themed('light')} { color-scheme: light } ${themed('dark')} { color-scheme: dark }
      ${themed('auto')} { color-scheme: light dark } ${host} {${looks}}`,
    )
    sheets.set(host, sheet)
  }
  return sheet
}

/* ---------- the element ---------- */

const here = new URL('../..', import.meta.url).href
/** What a dead key shows while it waits for its letter. */
const deadKey = /^[\p{Sk}\p{Lm}\p{M}~^'"]+$/u
const encoder = new TextEncoder()

/** @implements {ProductPaletteInterface} */
export class ProductPalette extends HTMLElement {
  static observedAttributes = ['for']

  #id = `product-palette-${++count}`
  #source = new Source()
  #mounted = new AbortController()
  /** @type {Option[]} */
  #options = []
  #at = -1
  /** Whether the arrows or the pointer chose the active option; else it is merely the first. */
  #moved = false
  /** The query whose answer is on the screen; null for none. */
  #shown = /** @type {string | null} */ (null)
  /** The query that was asked for last, and whether its answer is still to come. */
  #asked = /** @type {string | null} */ (null)
  #isBusy = false
  /** Enter, pressed before its answer was there. */
  #pending = /** @type {{ stay: boolean } | null} */ (null)
  #wasOpen = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #saying
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #ticking
  #words = words.en
  #language = 'en'
  /** @type {HTMLElement | null} the dialog, or the list below one's own input */
  #panel = null
  #input = document.createElement('input')
  #list = make('div', 'list')
  #message = make('div', 'message', { dir: 'auto' })
  #status = make('span', 'status', { 'aria-hidden': 'true', dir: 'auto' })
  #live = make('span', 'live', { role: 'status' })

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
    return this.#panel instanceof HTMLDialogElement
      ? this.#panel.open
      : (this.#panel?.matches(':popover-open') ?? false)
  }

  show() {
    if (!this.#panel || !this.isConnected) return
    if (!this.isOpen) {
      this.#source.forgive()
      this.#speak()
      if (this.#panel instanceof HTMLDialogElement) {
        this.#input.value = ''
        this.#panel.showModal()
      } else {
        this.#panel.showPopover()
        this.#place()
      }
      this.#wasOpen = true
      this.#asked = null
      this.#shown = null
      this.#fail(null)
      this.#draw([])
      this.#tell('product-palette-open')
      this.#search()
    }
    this.#input.focus()
  }

  close() {
    if (!this.isOpen) return
    if (this.#panel instanceof HTMLDialogElement) this.#panel.close()
    else this.#panel?.hidePopover()
    this.#closed()
  }

  /** The browser closes a dialog by itself too, and says so when it is over. */
  #closed() {
    if (!this.#wasOpen || this.isOpen) return
    this.#wasOpen = false
    this.#source.cancel()
    this.#pending = null
    this.#busy(false)
    clearInterval(this.#ticking)
    clearTimeout(this.#saying)
    this.#live.textContent = ''
    this.#input.setAttribute('aria-expanded', 'false')
    this.#input.removeAttribute('aria-activedescendant')
    this.#tell('product-palette-close')
  }

  /** @param {string} name */
  #tell(name) {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true }))
  }

  /* --- its place in the page --- */

  #mount() {
    // An element that is upgraded hears of its attributes before it hears that it is connected.
    this.#unmount()
    this.#mounted = new AbortController()
    const { signal } = this.#mounted
    const own = this.getAttribute('for')
    if (own === null) this.#mountDialog()
    else if (!this.#mountBelow(own)) return
    const input = this.#input
    this.#list.id = `${this.#id}-list`
    const attributes = {
      role: 'combobox',
      'aria-expanded': 'false',
      'aria-autocomplete': 'list',
      'aria-controls': this.#list.id,
    }
    for (const [name, value] of Object.entries({
      ...attributes,
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
    })) {
      input.setAttribute(name, value)
    }
    this.#list.setAttribute('role', 'listbox')
    input.addEventListener('input', (event) => this.#typed(/** @type {InputEvent} */ (event)), {
      signal,
    })
    input.addEventListener('compositionend', () => this.#search(), { signal })
    input.addEventListener('keydown', (event) => this.#pressed(event), { signal })
    // The focus stays where the typing goes on.
    this.#list.addEventListener('pointerdown', (event) => event.preventDefault(), { signal })
    this.#list.addEventListener('mousedown', (event) => event.preventDefault(), { signal })
    this.#list.addEventListener(
      'click',
      (event) => this.#activate(this.#under(event)) && this.#pick(event.ctrlKey || event.metaKey),
      {
        signal,
      },
    )
    // Not when the list merely moves under a pointer that rests.
    this.#list.addEventListener('pointermove', (event) => this.#activate(this.#under(event)), {
      signal,
    })
    addEventListener('keydown', (event) => this.#hotkey(event), { signal })
    addEventListener('online', () => this.#source.wake(), { signal })
  }

  #mountDialog() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open', delegatesFocus: false })
    root.adoptedStyleSheets = [sheetFor(':host')]
    this.#input = make('input', 'input', {
      type: 'text',
      enterkeyhint: 'search',
      maxlength: '200',
      autofocus: '',
    })
    const close = make(
      'button',
      'close',
      { type: 'button' },
      make('span', 'close-key', {}, 'esc'),
      icon(cross),
    )
    const hints = make('span', 'hints', { 'aria-hidden': 'true' })
    const panel = make(
      'div',
      'panel',
      {},
      make('div', 'header', {}, icon(magnifier), this.#input, close),
      make('div', 'progress'),
      make('div', 'results', {}, this.#list, this.#message),
      make('div', 'footer', {}, this.#status, hints),
      this.#live,
    )
    const dialog = make('dialog', 'dialog', {}, panel)
    const trigger = document.createElement('slot')
    root.replaceChildren(trigger, dialog)
    this.#panel = dialog
    trigger.addEventListener('click', () => this.show())
    close.addEventListener('click', () => this.close())
    dialog.addEventListener('close', () => this.#closed())
    // Seen from the page all keys pressed in here would be pressed on an element that is no input: its one-letter shortcuts would go off.
    for (const name of ['keydown', 'keyup', 'keypress'])
      dialog.addEventListener(name, (event) => event.stopPropagation())
    dialog.addEventListener('keydown', (event) => this.#hotkey(event))
    // Beside the panel there is nothing but the dialog itself. Pressed and released there: a selection may end there too.
    let isBeside = false
    dialog.addEventListener('pointerdown', ({ target }) => {
      isBeside = target === dialog
    })
    dialog.addEventListener('click', ({ target }) => isBeside && target === dialog && this.close())
  }

  /** @param {string} id @returns {boolean} whether there is such an input; looked for again when the page is parsed */
  #mountBelow(id) {
    const root = /** @type {Document | ShadowRoot} */ (this.getRootNode())
    const input = root.getElementById(id)
    const { signal } = this.#mounted
    if (!(input instanceof HTMLInputElement)) {
      if (document.readyState === 'loading')
        addEventListener('DOMContentLoaded', () => this.attributeChangedCallback(), { signal })
      return false
    }
    // In the tree of the input, not in one of our own: an input can only refer to options that stand in its own tree.
    const sheet = sheetFor(this.localName)
    if (!root.adoptedStyleSheets.includes(sheet))
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet]
    const panel = make(
      'div',
      'panel popup',
      { popover: 'manual' },
      make('div', 'progress'),
      make('div', 'results', {}, this.#list, this.#message),
      make('div', 'footer', {}, this.#status),
      this.#live,
    )
    this.#input = input
    this.#panel = panel
    this.append(panel)
    input.addEventListener('blur', () => this.close(), { signal })
    input.addEventListener('click', () => this.show(), { signal })
    panel.addEventListener('mousedown', (event) => event.preventDefault(), { signal })
    for (const name of ['scroll', 'resize'])
      addEventListener(name, () => this.#place(), { signal, capture: true, passive: true })
    return true
  }

  #unmount() {
    this.close()
    this.#mounted.abort()
    if (this.#panel instanceof HTMLDialogElement) this.#panel.remove()
    else if (this.#panel) {
      for (const name of ['role', 'aria-expanded', 'aria-autocomplete', 'aria-controls'])
        this.#input.removeAttribute(name)
      this.#panel.remove()
    }
    this.#panel = null
  }

  /** Below one's own input, or above it where there is more room. */
  #place() {
    if (!this.#panel || this.#panel instanceof HTMLDialogElement || !this.isOpen) return
    const { left, top, bottom, width } = this.#input.getBoundingClientRect()
    const below = innerHeight - bottom
    const isAbove = below < 260 && top > below
    const wide = Math.min(Math.max(width, 320), innerWidth - 16)
    const { style } = this.#panel
    style.left = `${Math.max(8, Math.min(getComputedStyle(this).direction === 'rtl' ? left + width - wide : left, innerWidth - wide - 8))}px`
    style.width = `${wide}px`
    style.top = isAbove ? 'auto' : `${bottom + 4}px`
    style.bottom = isAbove ? `${innerHeight - top + 4}px` : 'auto'
    style.maxHeight = `${Math.max(120, (isAbove ? top : below) - 12)}px`
  }

  /** Takes the language: the element's, that of what it stands in, or the document's. */
  #speak() {
    /** @type {Element | null} */
    let at = this
    while (at && !at.hasAttribute('lang')) {
      const root = at.getRootNode()
      at = at.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
    }
    const language = at?.getAttribute('lang') || document.documentElement.lang || navigator.language
    this.#words = /^es\b/i.test(language) ? words.es : words.en
    this.#language = this.#words === words.es && !/^es\b/i.test(language) ? 'es' : language
    const { title, list, close, hints } = this.#words
    this.#list.setAttribute('aria-label', list)
    if (!(this.#panel instanceof HTMLDialogElement)) return
    const label = this.getAttribute('placeholder') || title
    this.#panel.lang = this.#words === words.es ? 'es' : 'en'
    this.#panel.setAttribute('aria-label', title)
    this.#input.setAttribute('aria-label', title)
    this.#input.placeholder = label
    this.#panel.querySelector('[part=close]')?.setAttribute('aria-label', close)
    const key = (/** @type {string} */ text) => make('kbd', 'key', {}, text)
    this.#panel
      .querySelector('[part=hints]')
      ?.replaceChildren(
        make('span', 'hint', {}, key('↑'), key('↓'), hints.move),
        make('span', 'hint', {}, key('↵'), hints.pick),
        make('span', 'hint', {}, key(isMac ? '⌘' : 'Ctrl'), key('↵'), hints.more),
      )
  }

  /* --- typing --- */

  /** @param {InputEvent} event */
  #typed(event) {
    if (!this.isOpen) this.show()
    // ´ waits for its letter: nobody looks for an accent.
    if (event.isComposing && deadKey.test(event.data ?? '')) return
    this.#search()
  }

  get #query() {
    let text = this.#input.value.toWellFormed().normalize('NFC').trim()
    text = [...text].slice(0, 200).join('')
    while (encoder.encode(text).length > 512) text = text.slice(0, -1).toWellFormed()
    return text
  }

  #search() {
    if (!this.isOpen) return
    const query = this.#query
    // A space typed at the end, or the end of a composition, asks nothing new.
    if (query === this.#asked && (this.#isBusy || query === this.#shown)) return
    this.#asked = query
    this.#pending = null
    this.#moved = false
    this.#busy(true)
    this.#source.ask(this.#url(query), (outcome) => {
      this.#busy(false)
      if ('trouble' in outcome) this.#fail(outcome)
      else this.#answer(query, outcome)
    })
  }

  /** @param {boolean} busy */
  #busy(busy) {
    this.#isBusy = busy
    this.#panel?.toggleAttribute('data-busy', busy)
  }

  /** @param {string} query @param {number} [limit] */
  #url(query, limit = Number(this.getAttribute('limit')) || 8) {
    const key = this.getAttribute('key')
    const parameters = new URLSearchParams({ q: query, limit: String(limit), ...(key && { key }) })
    return `${this.#endpoint.replace(/\/+$/, '')}/api/search?${parameters}`
  }

  get #endpoint() {
    return new URL(this.getAttribute('endpoint') ?? here, document.baseURI).href
  }

  /* --- what is on the screen --- */

  /** @param {string} query @param {Answer} answer */
  #answer(query, answer) {
    this.#fail(null)
    this.#shown = query
    this.#draw(answer.hits, answer)
    const { count, nothing, advice, degraded } = this.#words
    const isEmpty = this.#options.length === 0
    if (isEmpty)
      this.#message.replaceChildren(
        make('strong', '', {}, nothing(query)),
        make('span', '', {}, advice),
      )
    const text = query === '' ? '' : count(answer.hits.length, answer.total)
    const isReserve = answer.meta?.degraded === true
    this.#note(
      isReserve ? [text, degraded].filter(Boolean).join(' · ') : text,
      isReserve ? 'degraded' : '',
    )
    this.#say(isEmpty ? nothing(query) : [text, isReserve && degraded].filter(Boolean).join('. '))
    if (this.#pending) this.#pick(this.#pending.stay)
  }

  /** Draws the hits anew, the first of them active; at the empty query those chosen before come first. @param {Hit[]} hits @param {Answer} [answer] */
  #draw(hits, answer) {
    // What was pointed at while this was on its way stays so, if it is there.
    const meant = this.#moved ? this.#options[this.#at]?.hit.id : undefined
    const isStart = (answer?.query ?? '') === '' && this.#query === ''
    const recents = isStart && this.getAttribute('recents') !== 'off' ? this.#recents.read() : []
    const { recent, popular } = this.#words
    const others = hits.filter(({ id }) => !recents.some((one) => one.id === id))
    this.#options = []
    const rows = (/** @type {Hit[]} */ hits, isRecent = false) =>
      hits.map((hit) => this.#row(hit, isRecent))
    this.#list.replaceChildren(
      ...(isStart
        ? [...this.#group(recent, rows(recents, true)), ...this.#group(popular, rows(others))]
        : rows(hits)),
    )
    this.#list.scrollTop = 0
    this.#list.hidden = this.#options.length === 0
    this.#message.hidden = this.#options.length > 0
    this.#message.replaceChildren()
    this.#input.setAttribute('aria-expanded', String(this.#options.length > 0))
    const at = this.#options.findIndex(({ hit }) => hit.id === meant)
    this.#moved = at >= 0
    this.#at = -1
    this.#move(Math.max(0, at), false)
  }

  /** @param {string} name @param {HTMLElement[]} rows @returns {HTMLElement[]} */
  #group(name, rows) {
    if (rows.length === 0) return []
    const heading = make(
      'div',
      'heading',
      { role: 'presentation', id: `${rows[0]?.id}-group` },
      name,
    )
    return [
      make('div', 'group', { role: 'group', 'aria-labelledby': heading.id }, heading, ...rows),
    ]
  }

  /** @param {Hit} hit @param {boolean} isRecent */
  #row(hit, isRecent) {
    const { sku, name, category, brand, hsCode, description, highlights } = hit
    const facts = [make('span', 'sku', {}, marked(sku, highlights.sku))]
    for (const [text, ranges] of /** @type {const} */ ([
      [brand, highlights.brand],
      [category, highlights.category],
    ])) {
      if (text) facts.push(make('span', 'fact', {}, marked(text, ranges)))
    }
    // What else was found in it is shown only then.
    if (hsCode && highlights.hsCode)
      facts.push(make('span', 'fact', {}, 'HS ', marked(hsCode, highlights.hsCode)))
    if (description && highlights.description && !highlights.name) {
      const start = Math.max(0, (highlights.description[0]?.[0] ?? 0) - 12)
      const ranges = highlights.description.map(
        ([at, length]) => /** @type {[number, number]} */ ([at - start, length]),
      )
      facts.push(
        make('span', 'fact', {}, start > 0 ? '…' : '', marked(description.slice(start), ranges)),
      )
    }
    const node = make(
      'div',
      'option',
      { role: 'option', id: `${this.#id}-${this.#options.length}`, 'aria-selected': 'false' },
      ...(isRecent ? [icon(clock)] : []),
      make(
        'span',
        'text',
        {},
        make('span', 'name', {}, make('bdi', '', {}, marked(name, highlights.name))),
        ' ',
        make(
          'span',
          'detail',
          {},
          ...facts.flatMap((fact, place) => (place > 0 ? [' · ', fact] : [fact])),
        ),
      ),
      ' ',
      make('span', 'price', {}, priceOf(hit, this.#language)),
    )
    this.#options.push({ hit, isRecent, node })
    return node
  }

  /** The line below the list. @param {string} text @param {string} [kind] */
  #note(text, kind = '') {
    this.#status.textContent = text
    this.#status.setAttribute('part', `status ${kind}`.trim())
  }

  /** To those who listen: when the typing rests, not at every key. @param {string} text */
  #say(text, afterMs = 600) {
    clearTimeout(this.#saying)
    this.#saying = setTimeout(() => this.#live.replaceChildren(text), afterMs)
  }

  /** Says what is wrong, plainly, and leaves the last results where they are. @param {Failure | null} failure null: all is well */
  #fail(failure) {
    clearInterval(this.#ticking)
    if (!failure) return
    this.#pending = null
    const { trouble, until } = failure
    const text = () => {
      if (trouble !== 'limited') return this.#words[trouble]
      return this.#words.limited(Math.max(1, Math.ceil((until - Date.now()) / 1000)))
    }
    const show = () => {
      this.#note(text(), 'trouble')
      if (this.#options.length === 0) this.#message.replaceChildren(make('strong', '', {}, text()))
    }
    show()
    this.#message.hidden = this.#options.length > 0
    if (trouble === 'limited') this.#ticking = setInterval(show, 500)
    this.#say(text(), 0)
  }

  /* --- choosing --- */

  /** @param {number} at @param {boolean} [isChoice] whether somebody did it */
  #move(at, isChoice = true) {
    const before = this.#options[this.#at]?.node
    before?.setAttribute('aria-selected', 'false')
    before?.setAttribute('part', 'option')
    this.#at = at
    if (isChoice) this.#moved = true
    const node = this.#options[at]?.node
    if (!node) return this.#input.removeAttribute('aria-activedescendant')
    node.setAttribute('aria-selected', 'true')
    node.setAttribute('part', 'option active')
    this.#input.setAttribute('aria-activedescendant', node.id)
  }

  /** @param {Event} event @returns {number} the option under the pointer; -1 for none */
  #under(event) {
    const path = event.composedPath()
    return this.#options.findIndex(({ node }) => path.includes(node))
  }

  /** @param {number} at @returns {boolean} whether there is one */
  #activate(at) {
    if (at >= 0 && at !== this.#at) this.#move(at)
    return at >= 0
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    // What an input method makes of a key is not ours; 229 is how browsers say so where they do not say it otherwise.
    if (event.isComposing || event.keyCode === 229) return
    const { key, shiftKey, altKey } = event
    const withControl = event.ctrlKey || event.metaKey
    if (key === 'Escape' && this.isOpen) {
      this.close()
      event.preventDefault()
    } else if (key === 'Enter' && this.isOpen && !shiftKey && !altKey) {
      if (this.#options.length > 0 || this.#isBusy) event.preventDefault()
      this.#pick(withControl)
    } else if (!withControl && !shiftKey && !altKey) {
      const target = this.#targetOf(key)
      if (target === null) return
      event.preventDefault()
      if (!this.isOpen) return this.show()
      this.#move(target)
      this.#options[target]?.node.scrollIntoView({ block: 'nearest' })
      // The heading above the first one too.
      if (target === 0) this.#list.scrollTop = 0
    }
  }

  /** @param {string} key @returns {number | null} the option that a key leads to; null for a key that is the text's */
  #targetOf(key) {
    const last = this.#options.length - 1
    if (key === 'ArrowDown') return this.#at >= last ? 0 : this.#at + 1
    if (key === 'ArrowUp') return this.#at <= 0 ? last : this.#at - 1
    if (last < 0) return null
    if (key === 'PageDown') return Math.min(last, this.#at + 5)
    if (key === 'PageUp') return Math.max(0, this.#at - 5)
    // In the text first, while there is still some way to go in it and the list was not entered.
    const { selectionStart, selectionEnd, value } = this.#input
    const isAt = (/** @type {number} */ end) =>
      this.#moved || (selectionStart === end && selectionEnd === end)
    if (key === 'Home' && isAt(0)) return 0
    if (key === 'End' && isAt(value.length)) return last
    return null
  }

  /** @param {boolean} stay */
  async #pick(stay) {
    // What is on the screen belongs to what was typed before: the first of what comes is meant, unless one was pointed at.
    if (this.#isBusy && !this.#moved) {
      this.#pending = { stay }
      return
    }
    this.#pending = null
    const option = this.#options[this.#at]
    if (!option) return
    const { node, isRecent } = option
    const query = this.#query
    const hit = isRecent ? await this.#current(option.hit) : option.hit
    if (!hit || !this.isOpen) return
    this.#recents.put(hit)
    const detail = { hit, query, stay }
    const isLeft = this.dispatchEvent(
      new CustomEvent('product-select', {
        detail,
        bubbles: true,
        composed: true,
        cancelable: true,
      }),
    )
    this.#say(this.#words.chosen(hit.name), 0)
    node.setAttribute('part', 'option active chosen')
    if (stay || !isLeft) return
    if (this.hasAttribute('for')) this.#input.value = hit.name
    this.close()
  }

  /** A product chosen before, as it is in the catalogue now. @param {Hit} hit @returns {Promise<Hit | null>} null when it is gone, or nobody can say */
  #current({ id, sku, name, ...rest }) {
    return new Promise((resolve) => {
      this.#busy(true)
      this.#source.ask(this.#url(sku, 50), (outcome) => {
        this.#busy(false)
        if ('trouble' in outcome) {
          this.#fail(outcome)
          return resolve(null)
        }
        this.#fail(null)
        const hit = outcome.hits.find((one) => one.id === id) ?? null
        if (!hit) {
          this.#recents.put({ id, sku, name, ...rest }, true)
          this.#asked = null
          this.#search()
          this.#note(this.#words.gone(name), 'trouble')
          this.#say(this.#words.gone(name), 0)
        }
        resolve(hit)
      })
    })
  }

  get #recents() {
    return new Recents(this.#endpoint)
  }

  /* --- the key that opens it --- */

  /** @param {KeyboardEvent} event */
  #hotkey(event) {
    // Whoever handled it, an editor with a Ctrl+K of its own above all, keeps it.
    if (event.defaultPrevented || event.isComposing || event.repeat || !event.key) return
    const wanted = (this.getAttribute('hotkey') ?? 'mod+k').toLowerCase().split('+')
    const name = wanted.pop() ?? ''
    const has = (/** @type {string[]} */ ...names) => names.some((one) => wanted.includes(one))
    const control = has('ctrl') || (has('mod') && !isMac)
    const meta = has('meta', 'cmd') || (has('mod') && isMac)
    // By its place where the layout has no such letter.
    const key =
      /^[\x21-\x7e]$/.test(event.key) || event.key.length > 1
        ? event.key.toLowerCase()
        : event.code.replace(/^Key/, '').toLowerCase()
    if (
      key !== name ||
      event.ctrlKey !== control ||
      event.metaKey !== meta ||
      event.altKey !== has('alt')
    )
      return
    if (event.shiftKey !== has('shift') && (control || meta || has('alt'))) return
    // Without Ctrl or the like it is a letter where people write.
    if (!control && !meta && !has('alt') && isEditable(event.composedPath()[0])) return
    event.preventDefault()
    if (this.isOpen && this.#panel instanceof HTMLDialogElement) this.close()
    else this.show()
  }
}

/** @param {EventTarget | undefined} target */
function isEditable(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  )
}

if (!customElements.get('product-palette')) customElements.define('product-palette', ProductPalette)
