// The types of <product-palette> in templates of Vue: import type {} from
// 'trade-quoting-palette/vue'.
import type { HTMLAttributes, PublicProps } from 'vue'
import type {
  PaletteStrings,
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteEventMap,
} from '../palette.d.ts'

declare module 'vue' {
  interface GlobalComponents {
    'product-palette': new () => ProductPalette & {
      /** For type checks of templates only. */
      $props: HTMLAttributes &
        ProductPaletteAttributes & {
          strings?: PaletteStrings | null
          onProductSelect?: (event: ProductPaletteEventMap['product-select']) => void
          onProductPaletteOpen?: (event: ProductPaletteEventMap['product-palette-open']) => void
          onProductPaletteClose?: (event: ProductPaletteEventMap['product-palette-close']) => void
        } & PublicProps
    }
  }
}
