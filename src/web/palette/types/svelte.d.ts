// The types of <product-palette> in Svelte: import type {} from 'trade-quoting-palette/svelte'.
import type { HTMLAttributes } from 'svelte/elements'
import type {
  PaletteStrings,
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteEventMap,
} from '../palette.d.ts'

declare module 'svelte/elements' {
  interface SvelteHTMLElements {
    'product-palette': HTMLAttributes<ProductPalette> &
      ProductPaletteAttributes & {
        strings?: PaletteStrings | null
        'onproduct-select'?: (event: ProductPaletteEventMap['product-select']) => void
        'onproduct-palette-open'?: (event: ProductPaletteEventMap['product-palette-open']) => void
        'onproduct-palette-close'?: (event: ProductPaletteEventMap['product-palette-close']) => void
      }
  }
}
