// Types of palette.js: what a page can ask of <product-palette>, and what it hears from it.

/** A product as `GET /api/search` answers it. */
export type Hit = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  /** UN/ECE Recommendation 20, such as C62 (piece) or KGM. */
  unit: string | null
  /** A decimal string, never a float. */
  price: { amount: string; currency: string } | null
  hsCode: string | null
  originCountry: string | null
  /** [start, length] in UTF-16 code units of the value of that name. */
  highlights: Partial<
    Record<'sku' | 'name' | 'description' | 'category' | 'brand' | 'hsCode', [number, number][]>
  >
}

/** Somebody chose a product. `preventDefault()` keeps the palette open and one's own input as it is. */
export type ProductSelectEvent = CustomEvent<{
  hit: Hit
  /** What was typed when it was chosen. */
  query: string
  /** Chosen with Ctrl+Enter, ⌘+Enter or such a click: the palette stays open for the next one. */
  stay: boolean
}>

export interface ProductPaletteEventMap extends HTMLElementEventMap {
  'product-select': ProductSelectEvent
  'product-palette-open': CustomEvent<null>
  'product-palette-close': CustomEvent<null>
}

/** What <product-palette> adds to an element. Its attributes stand in docs/palette.md. */
export interface ProductPaletteInterface {
  /** Whether it is open now. */
  readonly isOpen: boolean
  /** Opens it, or gives one's own input the focus. */
  show(): void
  /** Closes it; the focus goes back to where it was. */
  close(): void
}

export class ProductPalette extends HTMLElement implements ProductPaletteInterface {
  readonly isOpen: boolean
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

declare global {
  interface HTMLElementTagNameMap {
    'product-palette': ProductPalette
  }
}
