// The types of <product-palette> in JSX of Preact: import type {} from
// 'trade-quoting-palette/preact'.
import type { HTMLAttributes } from 'preact'
import type {
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteListeners,
  ProductPaletteProperties,
} from '../palette.d.ts'

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'product-palette': HTMLAttributes<ProductPalette> &
        ProductPaletteAttributes &
        ProductPaletteProperties &
        ProductPaletteListeners
    }
  }
}
