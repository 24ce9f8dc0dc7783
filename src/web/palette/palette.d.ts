// The types of palette.js: the element <product-palette> and its events.

/** A product as `GET /api/search` returns it. */
export type Hit = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  supplier: string | null
  /** UN/ECE Recommendation 20, for example C62 (piece) or KGM. */
  unit: string | null
  /** A decimal string, never a float. */
  price: { amount: string; currency: string } | null
  hsCode: string | null
  originCountry: string | null
  /** Matches in the field of that name: [start, length] in UTF-16 code units. */
  highlights: Partial<
    Record<
      'sku' | 'name' | 'description' | 'category' | 'brand' | 'supplier' | 'hsCode',
      [number, number][]
    >
  >
  /**
   * Its SKU was typed (exact), it has all the words and codes (words), some of them only after a
   * correction (corrected), or it lacks some.
   */
  match: 'exact' | 'words' | 'corrected' | 'some_words'
}

/** Something of your own that the palette offers besides products. */
export type PaletteAction = {
  /** Tells your listener which action was chosen. */
  id: string
  label: string
  detail?: string
  /** The heading of the actions that belong together. */
  group?: string
  /** Further words that find the action. */
  keywords?: string
}

/**
 * Returns what a row shows for a product. A string is shown as text, never parsed as markup.
 * `highlight` returns the text of a field with its matches marked.
 */
export type RenderOption = (
  hit: Hit,
  highlight: (field: keyof Hit['highlights']) => DocumentFragment,
) => Node | string

/**
 * The user chose a product. `preventDefault()` keeps the palette open and leaves the text of your
 * own input unchanged.
 */
export type ProductSelectEvent = CustomEvent<{
  hit: Hit
  /** The typed text when the product was chosen. */
  query: string
  /** Chosen with Ctrl+Enter, ⌘+Enter, Ctrl+click or ⌘+click: the palette stays open. */
  stay: boolean
}>

export interface ProductPaletteEventMap extends HTMLElementEventMap {
  'product-select': ProductSelectEvent
  'product-palette-open': CustomEvent<null>
  'product-palette-close': CustomEvent<null>
  /** Before a search. You may change `parameters`, for example add a filter. */
  'product-palette-search': CustomEvent<{ query: string; parameters: URLSearchParams }>
  /** Before results are shown. You may replace `hits` and `total`. */
  'product-palette-results': CustomEvent<{ query: string; hits: Hit[]; total: number }>
  /** The user marked a product as a favourite, or no longer. */
  'product-palette-favourite': CustomEvent<{ hit: Hit; isFavourite: boolean }>
  /** The user chose one of your actions. The palette is closed. */
  'product-palette-action': CustomEvent<{ action: PaletteAction; query: string }>
}

/** The texts of the palette. */
export type PaletteTexts = {
  /** The name and the placeholder of the input. */
  title: string
  list: string
  close: string
  favourites: string
  recent: string
  popular: string
  /** `total` is at most 1000, because the search counts no further. */
  count(shown: number, total: number): string
  nothing(query: string): string
  advice: string
  chosen(name: string): string
  notChosen(query: string): string
  /** The product is now a favourite, or no longer. */
  marked(name: string): string
  unmarked(name: string): string
  deleted(name: string): string
  degraded: string
  /** Marks a product that has the query only after a correction. */
  didYouMean: string
  /** Enter must be pressed again, because the product does not have the code as typed. */
  inexact(name: string): string
  copied(sku: string): string
  /** The option that shows this many more results. */
  more(count: number): string
  failures: Record<
    'offline' | 'unreachable' | 'unavailable' | 'refused' | 'unauthenticated' | 'forbidden',
    string
  >
  limited(seconds: number): string
  hints: Record<'move' | 'choose' | 'chooseMore' | 'favourite' | 'copy', string>
}

/** Texts of your own. Those that are absent come from the language of the element. */
export type PaletteStrings = Partial<Omit<PaletteTexts, 'failures' | 'hints'>> & {
  failures?: Partial<PaletteTexts['failures']>
  hints?: Partial<PaletteTexts['hints']>
}

/** What <product-palette> adds to HTMLElement. docs/palette.md lists its attributes. */
export interface ProductPaletteInterface {
  /** Whether the palette is open. */
  readonly isOpen: boolean
  /** Texts of your own. They take effect when the palette is opened. */
  strings: PaletteStrings | null
  /** Your template of a product. */
  renderOption: RenderOption | null
  /** What the palette offers besides products. */
  actions: PaletteAction[]
  /** Opens the palette and focuses its input, or your own input with `for`. */
  show(): void
  /** Closes the palette and returns the focus to the element that had it before. */
  close(): void
}

type Listener<Name extends keyof ProductPaletteEventMap> = (
  this: ProductPalette,
  event: ProductPaletteEventMap[Name],
) => unknown

export class ProductPalette extends HTMLElement implements ProductPaletteInterface {
  /** The base URL of the service for elements without `endpoint`. The script tag needs none. */
  static defaultEndpoint: string | null
  readonly isOpen: boolean
  strings: PaletteStrings | null
  renderOption: RenderOption | null
  actions: PaletteAction[]
  show(): void
  close(): void
  addEventListener<Name extends keyof ProductPaletteEventMap>(
    type: Name,
    listener: Listener<Name>,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void
  removeEventListener<Name extends keyof ProductPaletteEventMap>(
    type: Name,
    listener: Listener<Name>,
    options?: boolean | EventListenerOptions,
  ): void
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | EventListenerOptions,
  ): void
}

/** The attributes of the element. docs/palette.md describes them. */
export type ProductPaletteAttributes = {
  endpoint?: string
  'api-key'?: string
  hotkey?: string
  for?: string
  limit?: number | string
  lang?: string
  placeholder?: string
  theme?: 'light' | 'dark' | 'auto'
  recents?: 'on' | 'off'
  favourites?: 'on' | 'off'
  confirm?: 'on' | 'off'
}

/** The properties that frameworks set. */
export type ProductPaletteProperties = Partial<
  Pick<ProductPaletteInterface, 'strings' | 'renderOption' | 'actions'>
>

type OwnEvent = Exclude<keyof ProductPaletteEventMap, keyof HTMLElementEventMap>

/** The listeners of JSX. */
export type ProductPaletteListeners = {
  [Name in OwnEvent as `on${Name}`]?: (event: ProductPaletteEventMap[Name]) => void
}

declare global {
  interface HTMLElementTagNameMap {
    'product-palette': ProductPalette
  }
}
