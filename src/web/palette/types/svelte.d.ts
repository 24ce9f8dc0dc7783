// The types of <product-palette> in Svelte: import type {} from 'trade-quoting-palette/svelte'.
import type { HTMLAttributes } from 'svelte/elements'
import type {
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteListeners,
  ProductPaletteProperties,
} from '../palette.d.ts'

declare module 'svelte/elements' {
  interface SvelteHTMLElements {
    'product-palette': HTMLAttributes<ProductPalette> &
      ProductPaletteAttributes &
      ProductPaletteProperties &
      ProductPaletteListeners
  }
}
