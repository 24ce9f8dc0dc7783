// The types of <product-palette> in templates of Vue: import type {} from
// 'trade-quoting-palette/vue'.
import type { HTMLAttributes, PublicProps } from 'vue'
import type {
  ProductPalette,
  ProductPaletteAttributes,
  ProductPaletteEventMap,
  ProductPaletteProperties,
} from '../palette.d.ts'

declare module 'vue' {
  interface GlobalComponents {
    'product-palette': new () => ProductPalette & {
      /** For type checks of templates only. */
      $props: HTMLAttributes &
        ProductPaletteAttributes &
        ProductPaletteProperties & {
          onProductSelect?: (event: ProductPaletteEventMap['product-select']) => void
          onProductPaletteSearch?: (event: ProductPaletteEventMap['product-palette-search']) => void
          onProductPaletteResults?: (
            event: ProductPaletteEventMap['product-palette-results'],
          ) => void
          onProductPaletteFavourite?: (
            event: ProductPaletteEventMap['product-palette-favourite'],
          ) => void
          onProductPaletteAction?: (event: ProductPaletteEventMap['product-palette-action']) => void
          onProductPaletteOpen?: (event: ProductPaletteEventMap['product-palette-open']) => void
          onProductPaletteClose?: (event: ProductPaletteEventMap['product-palette-close']) => void
        } & PublicProps
    }
  }
}
