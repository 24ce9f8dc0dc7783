// An order without a framework: the palette adds a line for each chosen product.
document.querySelector('product-palette').addEventListener('product-select', ({ detail }) => {
  const { name, price } = detail.hit
  const line = document.createElement('li')
  line.textContent = `${name} ${price ? `${price.amount} ${price.currency}` : ''}`
  document.getElementById('lines').append(line)
})
