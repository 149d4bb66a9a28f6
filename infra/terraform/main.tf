# The stack of template.yaml, over the template and the zips of scripts/zips. CloudFormation deploys the template as it is, so
# the module can't differ from it.

locals {
  template = jsondecode(file("${var.dist}/template.json"))
  # The default key of a zip is its file's name with a checksum.
  code = {
    for name, parameter in local.template.Parameters : name => parameter.Default
    if can(regex("^[a-z-]+-[0-9a-f]{16}\\.zip$", parameter.Default))
  }
}

data "aws_s3_bucket" "code" {
  bucket = var.code_bucket
}

resource "aws_s3_object" "code" {
  for_each = local.code

  bucket = data.aws_s3_bucket.code.id
  key    = "${var.code_prefix}${each.value}"
  source = "${var.dist}/${replace(each.value, "/-[0-9a-f]{16}\\.zip$/", ".zip")}"
  tags   = var.tags
}

resource "aws_s3_object" "template" {
  bucket = data.aws_s3_bucket.code.id
  key    = "${var.code_prefix}template-${substr(filesha256("${var.dist}/template.json"), 0, 16)}.json"
  source = "${var.dist}/template.json"
  tags   = var.tags
}

resource "aws_cloudformation_stack" "aptix" {
  name         = var.name
  template_url = "https://${data.aws_s3_bucket.code.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  parameters = merge(
    var.parameters,
    { CodeBucket = data.aws_s3_bucket.code.id },
    { for name, object in aws_s3_object.code : name => object.key },
  )
  tags = var.tags

  timeouts {
    create = "60m"
    update = "60m"
    delete = "60m"
  }
}
