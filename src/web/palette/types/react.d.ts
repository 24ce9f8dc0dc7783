// The types of <product-palette> in JSX of React 19: import type {} from
// 'trade-quoting-palette/react'.
import type { DetailedHTMLProps, HTMLAttributes } from 'react'
import type {
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteListeners,
  ProductPaletteProperties,
} from '../palette.d.ts'

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'product-palette': DetailedHTMLProps<HTMLAttributes<ProductPalette>, ProductPalette> &
        ProductPaletteAttributes &
        ProductPaletteProperties &
        ProductPaletteListeners
    }
  }
}
