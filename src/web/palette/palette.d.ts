// The types of palette.js: the element <product-palette> and its events.

/** A product as `GET /api/search` returns it. */
export type Hit = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  /** UN/ECE Recommendation 20, for example C62 (piece) or KGM. */
  unit: string | null
  /** A decimal string, never a float. */
  price: { amount: string; currency: string } | null
  hsCode: string | null
  originCountry: string | null
  /** Matches in the field of that name: [start, length] in UTF-16 code units. */
  highlights: Partial<
    Record<'sku' | 'name' | 'description' | 'category' | 'brand' | 'hsCode', [number, number][]>
  >
}

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
}

/** The texts of the palette. */
export type PaletteTexts = {
  /** The name and the placeholder of the input. */
  title: string
  list: string
  close: string
  recent: string
  popular: string
  /** `total` is at most 1000, because the search counts no further. */
  count(shown: number, total: number): string
  nothing(query: string): string
  advice: string
  chosen(name: string): string
  notChosen(query: string): string
  deleted(name: string): string
  degraded: string
  failures: Record<
    'offline' | 'unreachable' | 'unavailable' | 'unauthenticated' | 'forbidden',
    string
  >
  limited(seconds: number): string
  hints: Record<'move' | 'choose' | 'chooseMore', string>
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
  /** Opens the palette and focuses its input, or your own input with `for`. */
  show(): void
  /** Closes the palette and returns the focus to the element that had it before. */
  close(): void
}

export class ProductPalette extends HTMLElement implements ProductPaletteInterface {
  /** The base URL of the service for elements without `endpoint`. The script tag needs none. */
  static defaultEndpoint: string | null
  readonly isOpen: boolean
  strings: PaletteStrings | null
  show(): void
  close(): void
  addEventListener<Name extends keyof ProductPaletteEventMap>(
    type: Name,
    listener: (this: ProductPalette, event: ProductPaletteEventMap[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
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
}

declare global {
  interface HTMLElementTagNameMap {
    'product-palette': ProductPalette
  }
}
