// An order: the palette adds a line for each chosen product, and fills an input of the page.
import { useState } from 'react'
import 'trade-quoting-palette'
import type { Hit } from 'trade-quoting-palette'
import type {} from 'trade-quoting-palette/react'

type OrderLine = { hit: Hit; quantity: number }

const service = {
  endpoint: import.meta.env.VITE_QUOTES_URL,
  'api-key': import.meta.env.VITE_QUOTES_KEY,
}

export function Order() {
  const [lines, setLines] = useState<OrderLine[]>([])
  const [substitute, setSubstitute] = useState('')
  return (
    <>
      <h1>Order</h1>
      <product-palette
        {...service}
        onproduct-select={({ detail }) => setLines((earlier) => addToOrder(earlier, detail.hit))}
      >
        <button type="button">Add a product (Ctrl+K)</button>
      </product-palette>
      <ul>
        {lines.map(({ hit, quantity }) => (
          <li key={hit.id}>
            {quantity} × {hit.name} {hit.price && `${hit.price.amount} ${hit.price.currency}`}
          </li>
        ))}
      </ul>
      <label>
        Substitute{' '}
        <input
          id="substitute"
          value={substitute}
          onChange={({ target }) => setSubstitute(target.value)}
        />
      </label>
      <product-palette {...service} for="substitute" hotkey="off" />
      <p>{substitute && `If something is out of stock: ${substitute}`}</p>
    </>
  )
}

function addToOrder(lines: OrderLine[], hit: Hit): OrderLine[] {
  const quantity = lines.find((line) => line.hit.id === hit.id)?.quantity ?? 0
  return [...lines.filter((line) => line.hit.id !== hit.id), { hit, quantity: quantity + 1 }]
}
