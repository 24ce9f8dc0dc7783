// The types of <product-palette> in JSX of React 19: import type {} from
// 'trade-quoting-palette/react'.
import type { DetailedHTMLProps, HTMLAttributes } from 'react'
import type {
  PaletteStrings,
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteEventMap,
} from '../palette.d.ts'

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'product-palette': DetailedHTMLProps<HTMLAttributes<ProductPalette>, ProductPalette> &
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
