// The types of <product-palette> in JSX of Preact: import type {} from
// 'trade-quoting-palette/preact'.
import type { HTMLAttributes } from 'preact'
import type {
  PaletteStrings,
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteEventMap,
} from '../palette.d.ts'

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'product-palette': HTMLAttributes<ProductPalette> &
        ProductPaletteAttributes & {
          strings?: PaletteStrings | null
          'onproduct-select'?: (event: ProductPaletteEventMap['product-select']) => void
          'onproduct-palette-open'?: (event: ProductPaletteEventMap['product-palette-open']) => void
          'onproduct-palette-close'?: (
            event: ProductPaletteEventMap['product-palette-close'],
          ) => void
        }
    }
  }
}
